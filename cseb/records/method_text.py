r"""The parts of a resolved method, and the reader of their text: `recipe(steps=60, dropout='model')@1 ami(...)@2`.

`Method.resolved` writes the text, which is part of the identity of a job. A part is `name(option=value, ...)@version`;
parts are separated by one space. Values are Python literals: a quoted one may contain brackets, spaces, commas and @.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, ValidationInfo, WithJsonSchema

from cseb.errors import BadResults, BadSpec
from cseb.methods.grammar import parse_part
from cseb.methods.part_facts import facts
from cseb.methods.spec import Method, Option, Part
from cseb.text import shortened

PART = re.compile(
    r"""([^\W\d]\w*\((?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^'"])*?\))@([0-9]{1,9})(?:[ ](?!\Z)|\Z)""", re.DOTALL
)
SHOWN = 60  # characters of a text that cannot be read


@dataclass(frozen=True, slots=True)
class Stated:
    """A part of a resolved method, with every option, and the version of its computation."""

    part: Part
    version: int

    def __str__(self) -> str:
        return f"{self.part}@{self.version}"

    @property
    def named(self) -> str:
        """Name and version, such as infonce@1."""
        return f"{self.part.name}@{self.version}"

    @property
    def options(self) -> Mapping[str, Option]:
        """Values by option."""
        return dict(self.part.options)

    def shown(self, names: Iterable[str] | None = None) -> str:
        """Return all options, or those of `names`, as text: `weight=1.0, temperature=0.05`."""
        options = self.options
        return ", ".join(f"{name}={options[name]!r}" for name in (names or options) if name in options)


def stated(method: Method) -> tuple[Stated, ...]:
    """Return the parts of a resolved method with their versions."""
    return tuple(Stated(part, facts(part.name).version) for part in method.parts())


def written(parts: Iterable[Stated]) -> str:
    """Return the text of these parts, as `Method.resolved` writes it."""
    return " ".join(map(str, parts))


@lru_cache(maxsize=4096)  # the seeds of a cell share the text
def read_method(resolved: str) -> tuple[Stated, ...]:
    """Return the parts of a text; () for "". Raises: BadResults if it is not the text of a method."""
    parts: list[Stated] = []
    start = 0
    while start < len(resolved):
        match = PART.match(resolved, start)
        if match is None:
            raise _unreadable(resolved[start:])
        try:
            part = _parse(match[1])
        except BadSpec:
            raise _unreadable(resolved[start:]) from None
        parts.append(Stated(part, int(match[2])))
        start = match.end()
    return tuple(parts)


_parse = lru_cache(maxsize=4096)(parse_part)  # methods of a folder share most of their parts


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A part in which two methods differ: the differing options of each; "absent" where a method lacks the part.

    name: of the part, with its version where both have the same.
    """

    name: str
    a: str
    b: str


def part_differences(a: Sequence[Stated], b: Sequence[Stated]) -> Iterator[PartDifference]:
    """Yield every part in which two resolved methods differ, in their order."""
    parts_a, parts_b = _numbered(a), _numbered(b)
    for place in [*parts_a, *(place for place in parts_b if place not in parts_a)]:
        part_a, part_b = parts_a.get(place), parts_b.get(place)
        if part_a is None or part_b is None:
            part = part_a or part_b
            assert part is not None, "a place comes from one of the methods"
            text = part.shown() or "no options"
            yield PartDifference(part.named, text if part_a else "absent", text if part_b else "absent")
        elif str(part_a) != str(part_b):  # as text: 1 and 1.0 give two keys
            yield _option_difference(part_a, part_b)


def _option_difference(a: Stated, b: Stated) -> PartDifference:
    missing = object()
    names = [
        name
        for name in {**a.options, **b.options}
        if repr(a.options.get(name, missing)) != repr(b.options.get(name, missing))
    ]
    if a.version == b.version:
        names = names or [*a.options]  # the same options in another order
        return PartDifference(a.named, a.shown(names) or "no such option", b.shown(names) or "no such option")
    return PartDifference(a.part.name, _with_version(a, names), _with_version(b, names))


def _with_version(part: Stated, names: Sequence[str]) -> str:
    options = part.shown(names) if names else ""
    return f"version {part.version}" + (f", {options}" if options else "")


def _numbered(method: Sequence[Stated]) -> dict[tuple[str, int], Stated]:
    """Return the parts by name and number: a method may have several terms of one name."""
    parts: dict[tuple[str, int], Stated] = {}
    for part in method:
        number = sum(name == part.part.name for name, _ in parts)
        parts[part.part.name, number] = part
    return parts


def _unreadable(rest: str) -> BadResults:
    return BadResults(
        f"the method cannot be read at {shortened(rest, SHOWN)!r}; it is written name(option=value)@version"
    )


PART_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "integer", "minimum": 1},
        "options": {"type": "object"},
    },
    "required": ["name", "options", "version"],
    "additionalProperties": False,
}


def part_data(parts: Iterable[Stated]) -> list[dict[str, Any]]:
    """Return parts as data."""
    return [{"name": stated.part.name, "version": stated.version, "options": dict(stated.options)} for stated in parts]


@lru_cache(maxsize=4096)
def _in_json(parts: tuple[Stated, ...]) -> object:
    return json.loads(json.dumps(part_data(parts)))


def _agreeing(data: object, info: ValidationInfo) -> tuple[Stated, ...]:
    """Return the parts of the field `resolved`, if the data say the same. Raises: ValueError, for pydantic."""
    try:
        parts = read_method(info.data.get("resolved", ""))
    except BadResults as error:
        raise ValueError(str(error)) from None
    if data not in (parts, _in_json(parts)):
        raise ValueError("resolved and parts are two methods")
    return parts


Parts = Annotated[
    tuple[Stated, ...],
    PlainValidator(_agreeing),
    PlainSerializer(part_data),
    WithJsonSchema({"type": "array", "items": PART_SCHEMA}),
]
