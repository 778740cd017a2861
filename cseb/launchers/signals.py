"""Ctrl-C and SIGTERM, which schedulers send, stop a grid; finished jobs are kept."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
STOPPED_FILE = "CSEB_STOPPED_FILE"  # environment: the file that the parent of several processes writes when stopped
PATIENCE = 1  # seconds that such a parent is given to write it, where a scheduler stops all processes at once


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    Not a plain KeyboardInterrupt: once that has crossed an `exec` of text, as libraries use while they are imported,
    Python ends by a signal even if the exception was caught, and the exit code is lost.
    """


def stop(number: int, _frame: FrameType | None) -> None:
    """Handle a signal. Raises: Stop."""
    if number == signal.SIGTERM and _another_failed():
        with Path(os.devnull).open("w", encoding="utf-8") as nothing:  # the parent prints what happened, once
            for stream in (sys.__stdout__, sys.__stderr__):
                if stream is not None:
                    os.dup2(nothing.fileno(), stream.fileno())
    raise Stop


def _another_failed() -> bool:
    """Return whether this is one of several processes and ended because another one failed."""
    if not (name := os.environ.get(STOPPED_FILE)):
        return False
    deadline = time.monotonic() + PATIENCE
    while not (stopped := Path(name).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not stopped


def signal_name(number: int) -> str:
    """Return the name of a signal; most real-time signals have none but their number."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


@contextmanager
def handled_signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle Ctrl-C and SIGTERM; a signal that the shell made this process ignore stays ignored."""
    handlers = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    main = threading.current_thread() is threading.main_thread()  # no other thread may set a handler
    replaced = {number: former for number, former in handlers.items() if main and former is not signal.SIG_IGN}
    for number in replaced:
        signal.signal(number, handler)
    try:
        yield
    finally:
        for number, former in replaced.items():
            signal.signal(number, former)


@contextmanager
def deferred_signals() -> Iterator[list[int]]:
    """Collect Ctrl-C and SIGTERM in a list and interrupt nothing; a process started meanwhile never sees SIGINT.

    Blocking them is not enough: another thread, such as one of numpy's, receives what this one has blocked.
    """
    received: list[int] = []
    with handled_signals(lambda number, _: received.append(number)):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited by a new process
        try:
            yield received
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
