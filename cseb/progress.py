"""Report the progress of long work to a listener, if a caller has set one.

Code that takes seconds calls `tell`, or iterates over `counted`. A listener is a plain function, set with `listening`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

# What is done, how much of it, of how many (0 if unknown); "" when it is over.
Listener = Callable[[str, int, int], None]
T = TypeVar("T")

ENCODING = "encoding sentences"  # what encoders report, in sentences

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_reader: ContextVar[Callable[[str], None] | None] = ContextVar("reader", default=None)


def remark(line: str) -> None:
    """Report a line that stays on the screen, such as a plan before it runs."""
    if (reader := _reader.get()) is not None:
        tell("")  # what is drawn now would be on the same line
        reader(line)


@contextmanager
def reading(reader: Callable[[str], None]) -> Iterator[None]:
    """Pass every remark to `reader` inside this context, equal ones once."""
    seen: set[str] = set()

    def once(line: str) -> None:
        if line not in seen:
            seen.add(line)
            reader(line)

    before = _reader.set(once)
    try:
        yield
    finally:
        _reader.reset(before)


def tell(what: str, done: int = 0, total: int = 0) -> None:
    """Report what is being done, such as "encoding sentences", and how much of it is done."""
    if (listener := _listener.get()) is not None:
        listener(what, done, total)


def counted(items: Iterable[T], what: str, total: int = 0) -> Iterator[T]:
    """Yield the items, and report each when it has been used."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    listener(what, 0, total)
    for done, item in enumerate(items, 1):
        yield item
        listener(what, done, total)


def heard() -> Listener | None:
    """Return the listener, for code that reports from a thread of its own."""
    return _listener.get()


@contextmanager
def listening(listener: Listener | None) -> Iterator[None]:
    """Pass what this thread reports to `listener` inside this context; with None, drop it."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def part_of(what: str, done: int, total: int) -> Iterator[None]:
    """Count what is reported of this kind of work inside this context on from `done`, of `total`."""
    listener = _listener.get()
    if listener is None:
        yield
        return

    def hear(name: str, more: int, of: int) -> None:
        listener(name, *((done + more, total) if name == what else (more, of)))

    with listening(hear):
        yield


@contextmanager
def unheard() -> Iterator[None]:
    """Report nothing inside this context: its progress is shown in another way."""
    tell("")
    with listening(None):
        yield
