"""Parts of a method as a record holds them: `{"name": "ami", "version": 2, "options": {"layers": [7, 8]}}`."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Annotated, Any

from pydantic import PlainSerializer, PlainValidator

from cseb.methods.spec import Option, Part
from cseb.records.method_text import Stated

FIELDS = {"name", "version", "options"}


def read_parts(found: object) -> tuple[Stated, ...]:
    """Parts from data. Raises: ValueError."""
    if not isinstance(found, list | tuple):
        raise ValueError("parts are a list")  # what pydantic turns into a finding
    return tuple(one if isinstance(one, Stated) else _part(one) for one in found)


def part_data(parts: Iterable[Stated]) -> list[dict[str, Any]]:
    """Parts as data."""
    return [{"name": one.part.name, "version": one.version, "options": dict(one.part.options)} for one in parts]


def _part(found: object) -> Stated:
    if not isinstance(found, dict) or set(found) != FIELDS:
        raise ValueError("a part has name, version and options")
    name, version, options = found["name"], found["version"], found["options"]
    if not isinstance(name, str) or not name.isidentifier():
        raise ValueError("the name of a part is a word")
    if isinstance(version, bool) or not isinstance(version, int) or version < 1:
        raise ValueError("the version of a part is a whole number of at least 1")
    if not isinstance(options, dict):
        raise ValueError("the options of a part are values by name")
    return Stated(Part(name, tuple((str(key), _option(value)) for key, value in options.items())), version)


def _option(found: object) -> Option:
    if isinstance(found, list | tuple):
        return tuple(map(_option, found))
    if found is None or isinstance(found, bool | int | str) or (isinstance(found, float) and math.isfinite(found)):
        return found
    raise ValueError("an option is a finite number, a word, null, or a list of them")


Parts = Annotated[tuple[Stated, ...], PlainValidator(read_parts), PlainSerializer(part_data)]
