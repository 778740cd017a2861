"""`python -m cseb.launchers.rank ...`: `cseb ...` as one of the processes that `--processes P` starts."""

from __future__ import annotations

import os
import runpy
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 3  # seconds that a process is given to end when another one has failed, or when all are told to
INTERRUPTED = 130


@contextmanager
def one_of_several() -> Iterator[None]:
    """End with the parent, which cannot say goodbye when it is killed; and let the process that failed first be heard.

    A mistake of the user's is found by all processes, and the first says it. An uncaught error is often that of a lost
    connection, because another process was killed: the launcher ends this one before it is printed.
    """
    parent = int(os.environ["TORCHELASTIC_RUN_ID"])
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()
    read_end, write_end = os.pipe()
    os.set_blocking(write_end, False)
    signal.set_wakeup_fd(write_end, warn_on_full_buffer=False)
    threading.Thread(target=_leave_when_signalled, args=(read_end,), daemon=True).start()
    try:
        yield
    except SystemExit as end:
        if end.code not in (None, 0, INTERRUPTED) and os.environ["RANK"] != "0":
            time.sleep(PATIENCE)
        raise
    except BaseException:
        time.sleep(2 * PATIENCE)
        raise


def _leave_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _leave_when_signalled(read_end: int) -> None:
    """Ctrl-C and SIGTERM are not heard by the main thread while it waits in C++ for another process to connect."""
    os.read(read_end, 1)
    time.sleep(PATIENCE)
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    with one_of_several():
        runpy.run_module("cseb", run_name="__main__", alter_sys=True)
