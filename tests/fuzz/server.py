"""A process that has loaded everything once and forks for each command: a command then takes hundredths of a second.

One request a line on standard input, one answer a line on standard output, both JSON. A child runs `cseb` with the
arguments of the request as the real one would, but may write to and delete from its own folder alone, open no
connection and load no code from there: what it tries all the same is refused and told.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import os
import resource
import select
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any

ROOM = 3 << 30  # bytes of addresses that a command may take beyond those of this process: no input may fill the machine
LARGEST = 1 << 28  # bytes of a file it may write
WORK = 21  # seconds of the CPU it may take
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod", "os.chown", "shutil.rmtree")
PAIRS = ("os.rename", "os.link", "os.symlink")  # of their two paths the second is made
HARMLESS = ("git", "uname")  # which commit, and which processor
SHARED = ("/dev/shm/",)
DEVICES = (
    "/dev/null",
    "/dev/full",
    "/dev/zero",
    "/dev/stdout",
    "/dev/stderr",
    "/dev/tty",
    "/dev/fd/",
    "/dev/urandom",
    *SHARED,
)


def load() -> None:
    """What commands import when they need it."""
    import importlib

    import matplotlib

    matplotlib.use("Agg")
    for name in (
        *("torch", "transformers", "sentence_transformers", "scipy.stats", "sklearn.linear_model", "sklearn.cluster"),
        *("matplotlib.pyplot", "pandas", "pyarrow.parquet", "jinja2", "accelerate", "rich.console", "yaml", "joblib"),
        *("transformers.models.bert.modeling_bert", "safetensors.torch", "huggingface_hub", "datasets"),
    ):
        importlib.import_module(name)
    root = Path(__file__).parents[2]
    for path in sorted(root.glob("cseb/**/*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        if not module.startswith(("cseb.tasks.mteb", "cseb.launchers.ray", "cseb.launchers.slurm")):
            importlib.import_module(module)


def serve() -> None:
    """Answer until standard input ends."""
    load()
    gc.collect()
    gc.freeze()
    answers = os.fdopen(os.dup(1), "w")
    answers.write(json.dumps({"ready": True}) + "\n")
    answers.flush()
    for line in sys.stdin:
        answers.write(json.dumps(_answer(json.loads(line))) + "\n")
        answers.flush()


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    """What became of one command; it and all it has started are gone afterwards."""
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        _child(request)
    ended = os.pidfd_open(pid)
    late = _stands_still(ended, pid, request["seconds"])
    seconds = time.monotonic() - started
    if late:
        os.kill(pid, signal.SIGKILL)
    _, status, used = os.wait4(pid, 0)
    os.close(ended)
    with contextlib.suppress(ProcessLookupError):  # it has left nobody behind
        os.killpg(pid, signal.SIGKILL)
    return {
        "code": os.waitstatus_to_exitcode(status),
        "late": late,
        "seconds": seconds,
        "cpu": used.ru_utime + used.ru_stime,
        "bytes": used.ru_maxrss * 1024,
    }


def _stands_still(ended: int, pid: int, patience: float) -> bool:
    """Wait for the end; True if it has not come, and nothing was computed, for `patience` seconds, or 30 times as long.

    A machine that others use makes a command slow and does not stop it, so that a clock of its whole time says little.
    """
    computed, since = -1, (started := time.monotonic())
    while not select.select([ended], [], [], 0.5)[0]:
        if (now := _computed(pid)) != computed:
            computed, since = now, time.monotonic()
        elif time.monotonic() - since > patience:
            return True
        if time.monotonic() - started > 30 * patience:
            return True
    return False


def _computed(session: int) -> int:
    """Ticks of the CPU that a command's processes have had."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            values = stat.read_text().rpartition(")")[2].split()
            if int(values[3]) == session:
                total += int(values[11]) + int(values[12])
    return total


def _child(request: dict[str, Any]) -> None:
    """Never returns."""
    code = 70
    try:
        os.setsid()
        os.chdir(request["cwd"])
        for number, (path, how) in enumerate((("/dev/null", os.O_RDONLY), *_outputs(request))):
            os.dup2(os.open(path, how, 0o644), number)
        told = os.open(request["told"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        _limit()
        sys.stdin = io.TextIOWrapper(io.FileIO(0, "r"))  # ours is in the middle of the parent's requests
        sys.addaudithook(_Guard(request["folder"], told, request["code"]))
        code = _run(request["argv"])
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def _outputs(request: dict[str, Any]) -> list[tuple[str, int]]:
    return [(request[name], os.O_WRONLY | os.O_CREAT | os.O_TRUNC) for name in ("stdout", "stderr")]


def _limit() -> None:
    addresses = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize() + ROOM
    resource.setrlimit(resource.RLIMIT_AS, (addresses, addresses))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
    resource.setrlimit(resource.RLIMIT_CPU, (WORK, WORK))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _run(argv: list[str]) -> int:
    """The exit code that Python would leave with."""
    from cseb.__main__ import main

    sys.argv = ["cseb", *argv]
    try:
        main()
        code = 0
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
        if error.code is not None and not isinstance(error.code, int):
            sys.stderr.write(f"{error.code}\n")
    except BaseException:
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
    except OSError:
        traceback.print_exc()
        code = 120
    return code & 0xFF


class _Guard:
    """An audit hook: what leaves the folder is told and refused."""

    def __init__(self, folder: str, told: int, code: bool) -> None:
        self.folder, self.told, self.code = os.path.realpath(folder) + os.sep, told, code
        self.busy = False

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if self.busy:
            return
        self.busy = True
        try:
            if found := self._wrong(event, given):
                os.write(self.told, f"{event} {found}\n".encode("utf-8", "backslashreplace"))
                if event != "pickle.find_class":  # told alone: libraries pickle for themselves
                    raise PermissionError(13, f"the fuzz refuses {event}", found)
        finally:
            self.busy = False

    def _wrong(self, event: str, given: tuple[Any, ...]) -> str:
        if event == "open":
            path, _, flags = given
            return self._outside(path, DEVICES) if isinstance(flags, int) and flags & WRITES else ""
        if event in CHANGES:
            return self._outside(given[0], DEVICES if event == "os.mkdir" else SHARED)  # nothing is made below a device
        if event in PAIRS:
            return self._outside(given[1]) or (self._outside(given[0]) if event == "os.rename" else "")
        if event == "socket.connect":
            return "" if isinstance(given[1], str | bytes) else repr(given[1])
        if event in ("os.system", "os.exec", "os.posix_spawn", "subprocess.Popen"):
            return "" if Path(os.fsdecode(given[0])).name in HARMLESS else repr(given[:2])[:200]
        if event == "exec" and not self.code:
            file = str(getattr(given[0], "co_filename", ""))
            return file if file.startswith("/") and os.path.realpath(file).startswith(self.folder) else ""
        return ""

    def _outside(self, path: object, allowed: tuple[str, ...] = SHARED) -> str:
        if isinstance(path, int) or path is None:
            return ""
        text = os.fsdecode(path)  # type: ignore[arg-type]
        if text.startswith(allowed):
            return ""
        here = Path.cwd() / text  # what is meant is the link, not what it points to
        full = str(Path(os.path.realpath(here.parent)) / here.name)
        return "" if full.startswith((self.folder, *allowed)) or full + os.sep == self.folder else full or "the root"


if __name__ == "__main__":
    serve()
