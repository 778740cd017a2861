r"""The parts of a resolved method, and the one reader of their text: `recipe(steps=60, dropout='model')@1 ami(...)@2`.

`Method.resolved` writes the text, of which the identity of a job is made. Records of format 2 hold the parts as data;
of format 1 they hold the text alone, which is read here.
A part is `name(option=value, ...)@version`, one space apart; values are written as Python writes them, so that a quoted
one may hold brackets, spaces, commas, @, and quotes or backslashes behind a backslash.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cseb.errors import BadResults, BadSpec
from cseb.methods.grammar import parse_part
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method, Option, Part

NAME = re.compile(r"[^\W\d]\w*(?=\()")
QUOTED = re.compile(r"'(?:\\.|[^'\\])*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
VERSION = re.compile(r"@([0-9]{1,9})( |\Z)")
SHOWN = 60  # characters of a text that cannot be read


@dataclass(frozen=True, slots=True)
class Stated:
    """A part of a resolved method, every option written out, and the version of its computation."""

    part: Part
    version: int

    def __str__(self) -> str:
        return f"{self.part}@{self.version}"

    @property
    def named(self) -> str:
        """Such as infonce@1."""
        return f"{self.part.name}@{self.version}"

    @property
    def options(self) -> Mapping[str, Option]:
        """Option to value, as the part has them."""
        return dict(self.part.options)

    def shown(self, names: Iterable[str] | None = None) -> str:
        """`weight=1.0, temperature=0.05`: all options, or these."""
        held = self.options
        return ", ".join(f"{name}={held[name]!r}" for name in (held if names is None else names) if name in held)


def stated(method: Method) -> tuple[Stated, ...]:
    """The parts of a resolved method with their versions; `written` gives its `resolved()`."""
    return tuple(Stated(part, facts(part.name).version) for part in method.parts())


def written(parts: Iterable[Stated]) -> str:
    """The text of these parts."""
    return " ".join(map(str, parts))


@lru_cache(maxsize=4096)  # the seeds of a cell share the text
def read_method(resolved: str) -> tuple[Stated, ...]:
    """The parts of `resolved` in their order; () for "". Raises: BadResults where it is no method's text."""
    found: list[Stated] = []
    place = 0
    while place < len(resolved):
        end = _closed(resolved, place)
        version = VERSION.match(resolved, end) if end else None
        if version is None or (version.group(2) and version.end() == len(resolved)):
            raise _unreadable(resolved[place:])
        try:
            part = _part(resolved[place:end])
        except BadSpec:
            raise _unreadable(resolved[place:]) from None
        found.append(Stated(part, int(version.group(1))))
        place = version.end()
    return tuple(found)


_part = lru_cache(maxsize=4096)(parse_part)  # methods of a folder share most of their parts


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part in which two methods differ: the options that are not the same, "absent" where a side lacks the part.

    name: of the part, with its version where that is the same on both sides.
    """

    name: str
    a: str
    b: str


def part_differences(a: str | Sequence[Stated], b: str | Sequence[Stated]) -> Iterator[PartDifference]:
    """Every part in which two resolved methods differ, in the order of their slots. Raises: BadResults for a text."""
    ours, theirs = ({f"{one.part.name} {place}": one for place, one in _numbered(text)} for text in (a, b))
    for place in _in_order([*ours], [*theirs]):
        here, there = ours.get(place), theirs.get(place)
        if here is None or there is None:
            [only] = [one for one in (here, there) if one is not None]
            said = only.shown() or "no options"
            yield PartDifference(only.named, said if here else "absent", said if there else "absent")
        elif str(here) != str(there):  # as written: 1 and 1.0 are two keys
            values, others = here.options, there.options
            yield _option_difference(
                here, there, [name for name in {**values, **others} if not _same(name, values, others)]
            )


def _same(name: str, ours: Mapping[str, Option], theirs: Mapping[str, Option]) -> bool:
    return name in ours and name in theirs and repr(ours[name]) == repr(theirs[name])


def _option_difference(here: Stated, there: Stated, names: Sequence[str]) -> PartDifference:
    if here.version == there.version:
        names = names or [*here.options]  # the same ones in another order
        return PartDifference(here.named, here.shown(names) or "no such option", there.shown(names) or "no such option")
    return PartDifference(here.part.name, _with_version(here, names), _with_version(there, names))


def _with_version(one: Stated, names: Sequence[str]) -> str:
    options = one.shown(names)
    return f"version {one.version}" + (f", {options}" if options else "")


def _numbered(method: str | Sequence[Stated]) -> Iterator[tuple[int, Stated]]:
    """Each part with how many of its name stand before it: `recipe` may come once, terms of one kind several times."""
    seen: dict[str, int] = {}
    for one in read_method(method) if isinstance(method, str) else method:
        seen[one.part.name] = seen.get(one.part.name, -1) + 1
        yield seen[one.part.name], one


def _in_order(ours: list[str], theirs: list[str]) -> list[str]:
    """Both lists in one: what only the second has stands where the second has it."""
    found = list(ours)
    for place, one in enumerate(theirs):
        if one not in found:
            before = next((other for other in reversed(theirs[:place]) if other in found), None)
            found.insert(found.index(before) + 1 if before is not None else 0, one)
    return found


def _closed(text: str, start: int) -> int:
    """Behind the bracket that closes the part at `start`; 0 where there is none."""
    if (name := NAME.match(text, start)) is None:
        return 0
    place, depth = name.end(), 0
    while place < len(text):
        letter = text[place]
        if letter in "'\"":
            if (quoted := QUOTED.match(text, place)) is None:
                return 0
            place = quoted.end()
            continue
        place += 1
        depth += (letter in "([") - (letter in ")]")
        if depth == 0:
            return place
    return 0


def _unreadable(rest: str) -> BadResults:
    shown = rest if len(rest) <= SHOWN else f"{rest[: SHOWN - 3]}..."
    return BadResults(f"the method cannot be read at {shown!r}; it is written name(option=value)@version")
