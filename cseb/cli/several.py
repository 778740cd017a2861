"""`--processes P`: this very command in P processes that share each batch, as `accelerate launch` would start them."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from tempfile import TemporaryFile

RANK, COUNT = "RANK", "WORLD_SIZE"  # the names that PyTorch and Accelerate give them
PATIENCE = 3.0  # seconds that the others are given to end when one has failed


def started() -> int:
    """How many processes run this command together."""
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
            env={**os.environ, **place, RANK: str(rank), "LOCAL_RANK": str(rank)},
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
