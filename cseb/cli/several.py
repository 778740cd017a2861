"""`--processes P`: this command in P processes that share each batch, as torchrun or Accelerate would start them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from tempfile import TemporaryFile

from cseb.errors import BadBenchmark

# the names that PyTorch and Accelerate give them
RANK, COUNT, LOCAL, HERE = "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"
MPI = {  # and those of Open MPI, and of MPICH and Intel's, with which Accelerate starts processes on CPUs
    RANK: ("OMPI_COMM_WORLD_RANK", "PMI_RANK"),
    COUNT: ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE"),
    LOCAL: ("OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID"),
    HERE: ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"),
}
PATIENCE = 3.0  # seconds that the others are given to end when one has failed


def started() -> int:
    """How many processes run this command together; from here on under PyTorch's names, whoever started them.

    Raises: BadBenchmark where Accelerate was asked for several and has started one.
    """
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
    return int(os.environ.get(COUNT, "1"))


def start(count: int, arguments: list[str]) -> int:
    """Run `cseb` with these arguments in `count` processes; returns the exit code of the first.

    A process that dies takes the others with it: they would wait for it for ever.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free.getsockname()[1]), COUNT: str(count)}
    heard = [TemporaryFile() for _ in range(count)]  # noqa: SIM115 (what the others complain of, until the end)
    processes = [
        subprocess.Popen(  # noqa: S603 (our own command line)
            [sys.executable, "-m", "cseb", *arguments],
            env={**os.environ, **place, RANK: str(rank), LOCAL: str(rank)},
            stderr=file if rank else None,
        )
        for rank, file in enumerate(heard)
    ]
    try:
        failed: float | None = None  # since when
        while None in [process.poll() for process in processes]:
            if failed is None and any(process.returncode for process in processes):
                failed = time.monotonic()
            if failed is not None and time.monotonic() - failed > PATIENCE:
                break
            time.sleep(0.1)
    finally:
        for process in processes:
            if process.poll() is None:
                process.terminate()
        codes = [process.wait() for process in processes]
    if codes[0] > 0:
        return codes[0]
    for rank, code in enumerate(codes):
        if code > 0:
            heard[rank].seek(0)
            sys.stderr.write(heard[rank].read().decode(errors="replace")[-2000:])
    return next((abs(code) for code in codes if code), 0)
