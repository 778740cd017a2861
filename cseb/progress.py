"""How far a long piece of work is: said by whoever does it, heard by whoever asked for it.

Code that takes seconds calls `tell`, or walks through `counted`. Nobody hears it unless a caller has said so with
`listening`; a listener is a plain function, and nothing here knows of terminals.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

# What is being done, how much of it is done, of how many: 0 where nobody knows. "" when it is over.
Listener = Callable[[str, int, int], None]
T = TypeVar("T")

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)
_reader: ContextVar[Callable[[str], None] | None] = ContextVar("reader", default=None)


def remark(line: str) -> None:
    """Report a line that stays on the screen, such as a plan before it is carried out."""
    if (reader := _reader.get()) is not None:
        tell("")  # what is drawn now would be on the same line
        reader(line)


@contextmanager
def reading(reader: Callable[[str], None]) -> Iterator[None]:
    """Inside, `reader` gets every remark."""
    before = _reader.set(reader)
    try:
        yield
    finally:
        _reader.reset(before)


def tell(what: str, done: int = 0, total: int = 0) -> None:
    """Say what is being done, such as "encoding sentences", and how much of it is done."""
    if (listener := _listener.get()) is not None:
        listener(what, done, total)


def counted(items: Iterable[T], what: str, total: int = 0) -> Iterator[T]:
    """The items, each told of when it has been dealt with."""
    listener = _listener.get()
    if listener is None:
        yield from items
        return
    listener(what, 0, total)
    for done, item in enumerate(items, 1):
        yield item
        listener(what, done, total)


def heard() -> Listener | None:
    """Who listens: for code that tells from a thread of its own."""
    return _listener.get()


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Inside, `listener` hears what is told in this thread."""
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def unheard() -> Iterator[None]:
    """Inside, nobody hears anything: what is done there is shown in another way."""
    tell("")
    before = _listener.set(None)
    try:
        yield
    finally:
        _listener.reset(before)
