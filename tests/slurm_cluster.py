"""A real Slurm for tests: controller, node daemon and munge on this machine, with a configuration of their own."""

import getpass
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
DEVICES = ("null", "zero", "full", "random")  # GPUs to Slurm, which numbers them in CUDA_VISIBLE_DEVICES
CONFIG = """
ClusterName=cseb
SlurmctldHost=localhost
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1,batch_sched_delay=1
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobRequeue=1
KillWait=2
MinJobAge=2
ReturnToService=2
GresTypes=gpu
NodeName=localhost NodeAddr=127.0.0.1 CPUs=4 RealMemory=1000 Gres=gpu:4 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=10 State=UP
"""


def missing() -> str:
    """Why there can be no Slurm here, or ""."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    return f"not installed: {', '.join(absent)} (Debian: slurm-wlm munge)" if absent else ""


@contextmanager
def slurm() -> Iterator[Path]:
    """Start a cluster of one node with four CPUs and four pretended GPUs; yield the folder of its slurm.conf."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="slurm")))  # sockets need a short path
        (folder / "state").mkdir()
        (folder / "spool").mkdir()
        key = folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)
        text = CONFIG.format(user=getpass.getuser(), folder=folder, ports=_ports())
        (folder / "slurm.conf").write_text(text)
        gpus = "".join(f"NodeName=localhost Name=gpu File=/dev/{name}\n" for name in DEVICES)
        (folder / "gres.conf").write_text(gpus)
        environment = {**os.environ, "PATH": _path(), "SLURM_CONF": str(folder / "slurm.conf")}

        def daemon(*command: str) -> None:
            log = stack.enter_context((folder / f"{command[0]}.out").open("wb"))
            process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
            stack.callback(_end, process)

        munge = {"socket": "munge.socket", "key-file": key.name, "pid-file": "munged.pid", "log-file": "munged.log"}
        options = [f"--{name}={folder / file}" for name, file in {**munge, "seed-file": "munged.seed"}.items()]
        daemon("munged", "--foreground", "--force", *options)
        _until((folder / "munge.socket").exists, folder)
        daemon("slurmctld", "-D", "-f", environment["SLURM_CONF"])
        daemon("slurmd", "-D", "-N", "localhost", "-f", environment["SLURM_CONF"])
        state = ["sinfo", "--noheader", "--format=%T"]
        _until(
            lambda: (
                "idle" in subprocess.run(state, env=environment, capture_output=True, text=True, check=False).stdout
            ),
            folder,
        )
        try:
            yield folder
        finally:  # what still runs would outlive the daemons
            subprocess.run(["scancel", f"--user={getpass.getuser()}"], env=environment, check=False)
            queue = ["squeue", "--noheader"]
            _until(lambda: not subprocess.run(queue, env=environment, capture_output=True, check=False).stdout, folder)


def _path() -> str:
    return os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))


def _ports() -> list[int]:
    with socket.socket() as first, socket.socket() as other:
        first.bind(("127.0.0.1", 0))
        other.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in (first, other)]


def _until(ready: object, folder: Path) -> None:
    assert callable(ready)
    deadline = time.monotonic() + 30
    while not ready():
        if time.monotonic() > deadline:
            logs = "".join(path.read_text(errors="replace") for path in folder.glob("*.log"))
            raise RuntimeError(f"Slurm does not start:\n{logs[-3000:]}")
        time.sleep(0.1)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":  # python -m tests.slurm_cluster COMMAND...: for trying things out
    with slurm() as place:
        there = {**os.environ, "SLURM_CONF": str(place / "slurm.conf")}
        sys.exit(subprocess.run(sys.argv[1:], env=there, check=False).returncode)
