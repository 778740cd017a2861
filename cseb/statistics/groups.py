"""Which methods are significantly different: compact letter display, and the group of the best."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from string import ascii_lowercase
from typing import TypeVar

Name = TypeVar("Name", bound=Hashable)


def joined(names: Sequence[Name], different: Collection[frozenset[Name]]) -> list[tuple[Name, ...]]:
    """The largest groups within which no two differ significantly, in the order of `names`; each is a bar or a letter.

    names: best first. different: pairs that differ significantly. Two names are in one group if and only if they do
    not. Source: insert and absorb, Piepho 2004.
    """
    groups = [frozenset(names)]
    for pair in sorted(different, key=lambda pair: sorted(names.index(name) for name in pair)):
        split = [part for group in groups for part in ((group - {one} for one in pair) if pair <= group else (group,))]
        groups = [one for one in dict.fromkeys(split) if not any(one < other for other in split)]
    ordered = [tuple(name for name in names if name in group) for group in groups]
    return sorted(ordered, key=lambda group: [names.index(name) for name in group])


def letters(names: Sequence[Name], different: Collection[frozenset[Name]]) -> dict[Name, str]:
    """For each name the letters of its groups: two names with a letter in common are not significantly different."""
    groups = joined(names, different)
    return {name: "".join(_letter(place) for place, group in enumerate(groups) if name in group) for name in names}


def with_best(names: Sequence[Name], different: Collection[frozenset[Name]]) -> tuple[Name, ...]:
    """The first of `names`, which are given best first, and every other one not significantly different from it."""
    return tuple(name for name in names if name == names[0] or frozenset((names[0], name)) not in different)


def _letter(place: int) -> str:
    """The alphabet, then a1 to z1 and so on."""
    turn, letter = divmod(place, len(ascii_lowercase))
    return ascii_lowercase[letter] + (str(turn) if turn else "")
