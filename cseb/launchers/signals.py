"""Ctrl-C and SIGTERM, which schedulers send, stop a grid; what is done is kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

STOPS = (signal.SIGINT, signal.SIGTERM)


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    A kind of its own, because a plain KeyboardInterrupt that has crossed an `exec` of text, as libraries do while they
    load, makes Python end by a signal even where it was caught, and the exit code is lost.
    """


def stop(_signal: int, _frame: FrameType | None) -> None:
    """What these signals mean here. Raises: Stop."""
    raise Stop


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
