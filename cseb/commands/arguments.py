"""Arguments that may be given as a list or as text, brought into one form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

Number = TypeVar("Number", int, float)


def joined(given: str | Iterable[object]) -> str:
    """Names or numbers as the command line writes them, with commas: ["a", "b"] and "a,b" are the same."""
    return given if isinstance(given, str) else ",".join(map(str, given))


def names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Names from a list, or from a text with commas between them."""
    texts = given.split(",") if isinstance(given, str) else given
    return tuple(name.strip() for name in texts if name.strip())


def methods_of(given: str | Iterable[str]) -> tuple[str, ...]:
    """Methods as typed, as records name them; what they are is not asked, as records tell all. Raises: BadSpec."""
    from cseb.methods.grammar import labels

    text = joined(given)
    return tuple(dict.fromkeys(labels(text))) if text.strip() else ()


def listed(given: Number | Sequence[Number]) -> Sequence[Number]:
    """One number, or several of them, as several."""
    return given if isinstance(given, Sequence) else (given,)
