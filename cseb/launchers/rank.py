"""`python -m cseb.launchers.rank ...`: `cseb ...` as one of the processes that `--processes P` starts."""

from __future__ import annotations

import os
import runpy
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cseb.launchers.signals import STOPPED_FILE

PATIENCE = 3  # seconds that a process is given to end after another one failed or after a signal
INTERRUPTED = 130


@contextmanager
def one_of_several() -> Iterator[None]:
    """End with the parent process, and let the process that failed first print its error.

    All processes find a user's error, and rank 0 prints it. Other errors are often those of a lost connection, because
    another process was killed: the launcher ends this one before its error is printed.
    """
    parent = int(os.environ["TORCHELASTIC_RUN_ID"])
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    threading.Thread(target=_exit_on_signal, args=(read_end,), daemon=True).start()
    try:
        yield
    except SystemExit as end:
        if end.code not in (None, 0, INTERRUPTED) and os.environ["RANK"] != "0":
            time.sleep(PATIENCE)
        raise
    except BaseException:
        time.sleep(2 * PATIENCE)
        raise


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    shutil.rmtree(Path(os.environ[STOPPED_FILE]).parent, ignore_errors=True)  # a killed parent has left it
    os._exit(1)


def _exit_on_signal(read_end: int) -> None:
    """Exit after Ctrl-C or SIGTERM, which the main thread cannot handle while it waits in C++ for a connection."""
    os.read(read_end, 1)
    time.sleep(PATIENCE)
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    with one_of_several():
        runpy.run_module("cseb", run_name="__main__", alter_sys=True)
