"""`--processes P`: this command in P processes that share each batch, started by PyTorch's elastic launcher.

This module adds exit codes and one line in place of that launcher's report; `rank` has the rest.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING

from cseb.errors import BadBenchmark
from cseb.launchers.signals import STOPPED_FILE, Stop, handled_signals, signal_name

if TYPE_CHECKING:
    from torch.distributed.elastic.multiprocessing.errors import ProcessFailure

# the names of PyTorch's launcher and of Accelerate's
RANK, WORLD_SIZE = "RANK", "WORLD_SIZE"
MPI_SIZES = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")  # which Accelerate reads too, with the rest


def started() -> int:
    """Return the number of processes that run this command together; set RANK and WORLD_SIZE for mpirun.

    Raises: BadBenchmark if Accelerate was to start several and has started one, or RANK and WORLD_SIZE are invalid.
    """
    if WORLD_SIZE not in os.environ and any(name in os.environ for name in MPI_SIZES):
        _name_ranks()
    if WORLD_SIZE not in os.environ and {"ACCELERATE_MIXED_PRECISION", "MASTER_PORT"} <= os.environ.keys():
        raise BadBenchmark(
            "accelerate launch has started one process of several: on CPUs it needs --mpirun_hostfile for more; take "
            "--multi_gpu, which starts them on CPUs too, or torchrun, or cseb run --processes P"
        )
    return _count(os.environ.get(RANK), os.environ.get(WORLD_SIZE))


def _name_ranks() -> None:
    """Set PyTorch's variables from those of mpirun, as Accelerate does when it connects the processes."""
    from accelerate.utils.environment import get_cpu_distributed_information

    mpi = get_cpu_distributed_information()
    os.environ |= {RANK: str(mpi.rank), WORLD_SIZE: str(mpi.world_size), "LOCAL_RANK": str(mpi.local_rank)}
    if mpi.local_world_size == mpi.world_size:
        os.environ.setdefault("MASTER_ADDR", "127.0.0.1")


def _count(rank: str | None, count: str | None) -> int:
    """Return WORLD_SIZE as a number. Raises: BadBenchmark if it and RANK are invalid."""
    if rank is None and count is None:
        return 1
    environment = f"{RANK}={rank or ''} and {WORLD_SIZE}={count or ''} in the environment"
    if not (rank and count and rank.isdecimal() and count.isdecimal() and int(rank) < int(count)):
        raise BadBenchmark(
            f"{environment}: whole numbers are needed, {RANK} below {WORLD_SIZE}; unset both, or take torchrun, or "
            "cseb run --processes P, which set them"
        )
    if int(count) > 1 and not os.environ.get("MASTER_ADDR"):
        raise BadBenchmark(
            f"{environment}, but no MASTER_ADDR, through which the {count} processes connect; set it to the host of "
            "rank 0, or take torchrun, or cseb run --processes P, which set it"
        )
    return int(count)


def start(count: int, arguments: list[str]) -> int:
    """Run `cseb` in `count` processes and return the exit code of the first, or of one that failed.

    A process that fails ends the others, which would wait for it for ever. Raises: Stop, once all have ended.
    """
    received: list[int] = []

    with TemporaryDirectory() as logs:
        stopped = Path(logs, "stopped")
        os.environ[STOPPED_FILE] = str(stopped)

        def stop_once(number: int, _frame: FrameType | None) -> None:
            received.append(number)
            if len(received) == 1:  # a second Ctrl-C must not interrupt the launcher while it ends the processes
                stopped.touch()
                raise Stop

        with handled_signals(stop_once):
            return _start(count, arguments, Path(logs))


def _start(count: int, arguments: list[str], logs: Path) -> int:
    """Run `cseb` with these arguments in `count` processes; all but the first write their errors below `logs`."""
    from torch.distributed.elastic.multiprocessing import DefaultLogsSpecs, Std
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.disable()  # of the launcher alone: nothing else runs in this process
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=count,
        run_id=str(os.getpid()),  # by which the processes know their parent
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",  # else the name of this host is looked up
        max_restarts=0,
        logs_specs=DefaultLogsSpecs(str(logs), redirects=dict.fromkeys(range(1, count), Std.ERR)),
        signals_to_handle="SIGQUIT",  # Ctrl-C and SIGTERM are ours: what the shell has us ignore stays ignored
    )
    try:
        elastic_launch(config, sys.executable)("-m", "cseb.launchers.rank", *arguments)
    except ChildFailedError as error:
        return _failed(error.failures, count, logs)
    return 0


def _failed(failures: Mapping[int, ProcessFailure], count: int, logs: Path) -> int:
    """Return the exit code of the rank that failed first, and print its error if rank 0 has not."""
    rank = min(failures, key=lambda rank: (failures[rank].timestamp, failures[rank].exitcode == -signal.SIGTERM, rank))
    code = failures[rank].exitcode
    if code < 0:
        hint = "; out of memory? try fewer --processes" if -code == signal.SIGKILL else ""
        sys.stderr.write(f"cseb: process {rank} of {count} was killed by {signal_name(-code)}{hint}\n")
        return 1
    for file in logs.rglob(f"{rank}/stderr.log"):
        sys.stderr.write(file.read_text(encoding="utf-8", errors="replace")[-2000:])
    return code
