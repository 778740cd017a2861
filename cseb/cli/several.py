"""`--processes P`: this command in P processes that share each batch, as torchrun or Accelerate would start them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack
from tempfile import TemporaryFile
from types import TracebackType
from typing import IO

from cseb.errors import BadBenchmark
from cseb.launchers.signals import Stop, named, on_signals, signals_wait, stop

# the names that PyTorch and Accelerate give them
RANK, COUNT, LOCAL, HERE = "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"
MPI = {  # and those of Open MPI, and of MPICH and Intel's, with which Accelerate starts processes on CPUs
    RANK: ("OMPI_COMM_WORLD_RANK", "PMI_RANK"),
    COUNT: ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
    LOCAL: ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    HERE: ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"),
}
PARENT = "CSEB_PARENT"  # the process that started this one, by its number
PATIENCE = 3.0  # seconds that the others are given to end when one has failed, or when all are told to


def started() -> int:
    """How many processes run this command together; from here on under PyTorch's names, whoever started them.

    Raises: BadBenchmark where Accelerate was asked for several and has started one, or the names make no sense.
    """
    if parent := os.environ.pop(PARENT, ""):
        _follow(int(parent))
    if COUNT not in os.environ:
        for name, others in MPI.items():
            told = next((os.environ[other] for other in others if other in os.environ), None)
            if told is not None:
                os.environ[name] = told
        if HERE in os.environ and os.environ[HERE] == os.environ.get(COUNT):
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    if COUNT not in os.environ and {"ACCELERATE_MIXED_PRECISION", "MASTER_PORT"} <= os.environ.keys():
        raise BadBenchmark(
            "accelerate launch has started one process of several: on CPUs it needs --mpirun_hostfile for more; take "
            "--multi_gpu, which starts them on CPUs too, torchrun, or cseb run --processes P"
        )
    return _count(os.environ.get(RANK), os.environ.get(COUNT))


def _count(rank: str | None, count: str | None) -> int:
    """WORLD_SIZE, once it and RANK are found to make sense."""
    if rank is None and count is None:
        return 1
    told = f"{RANK}={rank or ''} and {COUNT}={count or ''} in the environment"
    if not (rank and count and rank.isdecimal() and count.isdecimal() and int(rank) < int(count)):
        raise BadBenchmark(
            f"{told}: whole numbers are needed, the first below the second; unset both, or take torchrun, or "
            "cseb run --processes P, which set them"
        )
    if int(count) > 1 and not os.environ.get("MASTER_ADDR"):
        raise BadBenchmark(
            f"{told}, but no MASTER_ADDR, where the {count} processes meet; set it to the first one's host, or take "
            "torchrun, or cseb run --processes P, which set it"
        )
    return int(count)


def _follow(parent: int) -> None:
    """What a process of `start` owes the others: it leaves with its parent, and what it complains of comes late.

    One that fails because another was killed has nothing to say: before it speaks, its parent has ended it.
    """
    complain = sys.excepthook

    def leave() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)  # a parent that is killed cannot say goodbye

    def late(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        time.sleep(2 * PATIENCE)
        complain(kind, error, trace)

    threading.Thread(target=leave, daemon=True).start()
    sys.excepthook = late


def start(count: int, arguments: list[str]) -> int:
    """Run `cseb` with these arguments in `count` processes; returns the exit code of the first, or of one that failed.

    A process that dies takes the others with it: they would wait for it for ever. Raises: Stop, once all are ended.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), COUNT: str(count)}
    place[PARENT] = str(os.getpid())
    processes: list[subprocess.Popen[bytes]] = []
    with on_signals(stop), ExitStack() as files:
        said = [files.enter_context(TemporaryFile()) for _ in range(count)]  # what the others complain of
        try:
            with signals_wait() as heard:  # Ctrl-C reaches the whole group of processes; only this one answers it
                for rank, file in enumerate(said):
                    process = subprocess.Popen(  # noqa: S603 (our own command line)
                        [sys.executable, "-m", "cseb", *arguments],
                        env={**os.environ, **place, RANK: str(rank), LOCAL: str(rank)},
                        stderr=file if rank else None,
                    )
                    processes.append(process)
            if heard:
                raise Stop
            while None in (codes := [process.poll() for process in processes]) and not any(codes):
                time.sleep(0.1)
            codes = _wait(processes)
        except Stop:
            with signals_wait():
                for process in processes:
                    process.terminate()
                _wait(processes)
            raise
        finally:
            with signals_wait():  # a second Ctrl-C must not leave one behind
                for process in processes:
                    process.kill()  # one that waits for a connection hears nothing else
                    process.wait()
        return _ended(codes, said)


def _wait(processes: Sequence[subprocess.Popen[bytes]]) -> list[int | None]:
    """Their exit codes, None for those that have not ended after PATIENCE seconds."""
    late = time.monotonic() + PATIENCE
    while None in (codes := [process.poll() for process in processes]) and time.monotonic() < late:
        time.sleep(0.1)
    return codes


def _ended(codes: Sequence[int | None], said: Sequence[IO[bytes]]) -> int:
    """The exit code of all, and what there is to say of it that the first process has not said."""
    for rank, code in enumerate(codes):
        if code is not None and code < 0:
            hint = "; out of memory? try fewer --processes" if -code == signal.SIGKILL else ""
            sys.stderr.write(f"cseb: process {rank} of {len(codes)} was killed by {named(-code)}{hint}\n")
            return 1
    rank, code = next(((rank, code) for rank, code in enumerate(codes) if code), (0, 0))
    if rank:
        said[rank].seek(0)
        sys.stderr.write(said[rank].read().decode(errors="replace")[-2000:])
    return code
