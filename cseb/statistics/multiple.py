"""Many comparisons at once: adjusted p-values, and groups of methods that are not significantly different."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from string import ascii_lowercase
from typing import TypeVar

import numpy as np

from cseb.statistics.intervals import Floats

Name = TypeVar("Name", bound=Hashable)


def holm(p: Floats) -> Floats:
    """Return adjusted p-values (m,): the chance of any false rejection at `alpha` is at most `alpha`.

    Source: Holm 1979. Valid for any dependence between the tests.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(steps)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def letters(names: Sequence[Name], different: Collection[frozenset[Name]]) -> dict[Name, str]:
    """Return the compact letter display: names with a letter in common are not significantly different.

    Args:
        names: Methods, best first.
        different: Pairs that differ significantly.
    """
    groups = _groups(names, different)
    return {name: "".join(_letter(place) for place, group in enumerate(groups) if name in group) for name in names}


def with_best(names: Sequence[Name], different: Collection[frozenset[Name]]) -> tuple[Name, ...]:
    """Return the first of `names`, which are given best first, and all that are not significantly different from it."""
    return tuple(name for name in names if name == names[0] or frozenset((names[0], name)) not in different)


def _groups(names: Sequence[Name], different: Collection[frozenset[Name]]) -> list[tuple[Name, ...]]:
    """Return the largest groups without a significant difference, in the order of `names`.

    Two names are in one group if and only if they do not differ. Source: insert and absorb, Piepho 2004.
    """
    groups = [frozenset(names)]
    for pair in sorted(different, key=lambda pair: sorted(names.index(name) for name in pair)):
        split = [
            part for group in groups for part in ((group - {name} for name in pair) if pair <= group else (group,))
        ]
        groups = [group for group in dict.fromkeys(split) if not any(group < other for other in split)]
    ordered = [tuple(name for name in names if name in group) for group in groups]
    return sorted(ordered, key=lambda group: [names.index(name) for name in group])


def _letter(place: int) -> str:
    """Return a to z, then a1 to z1 and so on."""
    turn, letter = divmod(place, len(ascii_lowercase))
    return ascii_lowercase[letter] + (str(turn) if turn else "")
