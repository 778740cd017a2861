"""Parts of a method in a record: `{"name": "ami", "version": 2, "options": {"layers": [7, 8]}}`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

from cseb.methods.spec import Option, Part
from cseb.records.method_text import Stated

FIELDS = {"name", "version", "options"}
PART_SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "version": {"type": "integer", "minimum": 1},
        "options": {"type": "object"},
    },
    "required": sorted(FIELDS),
    "additionalProperties": False,
}


def read_parts(data: object) -> tuple[Stated, ...]:
    """Return parts from data. Raises: ValueError, which pydantic reports."""
    if not isinstance(data, list | tuple):
        raise ValueError("parts are a list")
    return tuple(part if isinstance(part, Stated) else _part(part) for part in data)


def part_data(parts: Iterable[Stated]) -> list[dict[str, Any]]:
    """Return parts as data."""
    return [{"name": stated.part.name, "version": stated.version, "options": dict(stated.options)} for stated in parts]


def _part(data: object) -> Stated:
    if not isinstance(data, dict) or set(data) != FIELDS:
        raise ValueError("a part has name, version and options")
    name, version, options = data["name"], data["version"], data["options"]
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError("the name of a part is a word")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError("the version of a part is a whole number of at least 1")
    if not isinstance(options, dict):
        raise ValueError("the options of a part are values by name")
    return Stated(Part(name, tuple((str(key), _option(value)) for key, value in options.items())), version)


def _option(value: object) -> Option:
    if isinstance(value, list | tuple):
        return tuple(map(_option, value))
    if value is None or isinstance(value, bool | int | str) or (isinstance(value, float) and math.isfinite(value)):
        return value
    raise ValueError("an option is a finite number, a word, null, or a list of them")


Parts = Annotated[
    tuple[Stated, ...],
    PlainValidator(read_parts),
    PlainSerializer(part_data),
    WithJsonSchema({"type": "array", "items": PART_SCHEMA}),
]
