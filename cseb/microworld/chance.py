"""Random choices and fixed preferences that are the same on every machine and with every library version.

Only `random.Random.random` is used, whose stream Python promises to keep, and integer arithmetic.
"""

from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from random import Random
from typing import NamedTuple, TypeVar

T = TypeVar("T")
_BITS = (1 << 64) - 1
_STEPS = 33  # strengths 0 to 32; strength k weighs STRENGTHS[k]
STRENGTHS: tuple[int, ...] = tuple(10 * pow(3, k) // pow(2, k) for k in range(_STEPS))  # a factor 3/2 each


class Weighted(NamedTuple):
    """Names and their running total of integer weights."""

    names: tuple[str, ...]
    totals: tuple[int, ...]


def weighted(names: Sequence[str], weights: Sequence[int]) -> Weighted:
    """Names that `Chance.draw` picks in proportion to `weights`."""
    return Weighted(tuple(names), tuple(accumulate(weights)))


class Chance:
    """A seeded stream of choices."""

    __slots__ = ("random",)

    def __init__(self, seed: int) -> None:
        self.random = Random(seed).random  # floats in [0, 1)

    def flip(self, share: float) -> bool:
        """True with probability `share`."""
        return self.random() < share

    def below(self, count: int) -> int:
        """An integer from 0 to count - 1, all equally likely."""
        return int(self.random() * count)

    def pick(self, items: Sequence[T]) -> T:
        """One item, all equally likely."""
        return items[int(self.random() * len(items))]

    def draw(self, table: Weighted) -> str:
        """One name in proportion to its weight."""
        names, totals = table
        return names[bisect_right(totals, int(self.random() * totals[-1]))]


def mix(*values: int) -> int:
    """A 64-bit hash of integers (splitmix64 applied in turn)."""
    state = 0x9E3779B97F4A7C15
    for value in values:
        state = (state + (value & _BITS) + 0x9E3779B97F4A7C15) & _BITS
        state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _BITS
        state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _BITS
        state ^= state >> 31
    return state


@cache
def text_hash(text: str) -> int:
    """A 64-bit hash of a string, FNV-1a over its UTF-8 bytes."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & _BITS
    return state


def strength(*names: str) -> int:
    """How frequent this combination is: a fixed weight, bell-shaped on a log scale."""
    bits = mix(*(text_hash(name) for name in names))
    return STRENGTHS[(bits & 0xFFFFFFFF).bit_count()]


def seeded(seed: int, name: str) -> Chance:
    """The stream of the part called `name` under this seed."""
    return Chance(mix(seed, text_hash(name)))
