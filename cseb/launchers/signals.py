"""Ctrl-C and SIGTERM, which schedulers send, stop a grid; what is done is kept."""

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

STOPS = (signal.SIGINT, signal.SIGTERM)
STOPPED_FILE = "CSEB_STOPPED_FILE"  # environment: what the parent of several processes writes when it is itself stopped
PATIENCE = 1  # seconds that such a parent is given to write it, where a scheduler stops all processes at once


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    A kind of its own, because a plain KeyboardInterrupt that has crossed an `exec` of text, as libraries do while they
    load, makes Python end by a signal even where it was caught, and the exit code is lost.
    """


def stop(number: int, _frame: FrameType | None) -> None:
    """What these signals mean here. Raises: Stop."""
    if number == signal.SIGTERM and _another_failed():
        with Path(os.devnull).open("w", encoding="utf-8") as nothing:  # the parent says what happened, once
            for stream in (sys.__stdout__, sys.__stderr__):
                if stream is not None:
                    os.dup2(nothing.fileno(), stream.fileno())
    raise Stop


def _another_failed() -> bool:
    """Whether this is one of several processes and ended because another one failed: nobody stopped the parent."""
    if not (name := os.environ.get(STOPPED_FILE)):
        return False
    late = time.monotonic() + PATIENCE
    while not (stopped := Path(name).exists()) and time.monotonic() < late:
        time.sleep(0.05)
    return not stopped


def named(number: int) -> str:
    """What a signal is called; most real-time signals have no name."""
    return signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"


@contextmanager
def on_signals(answer: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM, which schedulers send, get this answer; what the shell has us ignore stays ignored."""
    before = {number: signal.getsignal(number) for number in STOPS}
    ours = threading.current_thread() is threading.main_thread()  # no other thread may set a handler
    heeded = {number: handler for number, handler in before.items() if ours and handler is not signal.SIG_IGN}
    for number in heeded:
        signal.signal(number, answer)
    try:
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)


@contextmanager
def signals_wait() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM are written down and interrupt nothing; a process that starts meanwhile never sees SIGINT.

    Blocking them is not enough: another thread, such as one of numpy's, takes what this one has blocked.
    """
    received: list[int] = []
    with on_signals(lambda number, _: received.append(number)):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what a new process inherits
        try:
            yield received
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
