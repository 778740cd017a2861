"""The file of a record: bounded reading, with one line about anything that is not a record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cseb.data.bounded import read_bytes, shown
from cseb.errors import BadData, BadResults
from cseb.records.record import SCHEMA, Record
from cseb.text import plain, quantity

LARGEST = 2**22  # bytes; a record has some ten thousand


@dataclass(frozen=True, slots=True)
class Problem:
    """A file among the records that is not a record, and the reason in one line."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{plain(str(self.path))}: {self.reason}"


def read_record(path: Path) -> Record | Problem:
    """Return the record in a file, or why there is none."""
    try:
        content = read_bytes(path, LARGEST)
    except BadData as error:
        return Problem(path, str(error).removeprefix(f"{shown(path)} "))
    return record_of(content, path)


def record_of(content: bytes, path: Path) -> Record | Problem:
    """Return the record in the content of a file, or why it is none."""
    try:
        record = Record.model_validate_json(content)
    except ValidationError as error:
        return Problem(path, _reason(error))
    if path.name != f"{record.key}.json":
        return Problem(path, f"contains the record {plain(record.key)!r}; was it renamed?")
    return record


def _reason(error: ValidationError) -> str:
    if error.error_count() > 1000:  # making such a list would take longer than reading the folder
        return f"not a record: {quantity(error.error_count(), 'error')}"
    errors = error.errors(include_url=False, include_context=False)
    for details in errors:
        if details["loc"] == ("format",):
            return f"format {plain(repr(details['input']))}; this version of cseb reads format {SCHEMA}"
    field = ".".join(map(str, errors[0]["loc"]))
    return plain(f"not a record: {field}{': ' if field else ''}{errors[0]['msg']}")


def record_bytes(record: Record, target: Path) -> bytes:
    """Return the content of the file of a record. Raises: BadResults for one that could not be read back."""
    text = record.model_dump_json(indent=2).encode() + b"\n"
    try:
        Record.model_validate_json(text)
    except ValidationError as error:  # such as seconds that are not a number
        raise BadResults(f"{target} could not be read back: {_reason(error)}") from error
    return text
