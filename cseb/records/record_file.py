"""A record as a file holds it: read within bounds, and refused with the reason in one line."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cseb.errors import BadResults
from cseb.records.record import SCHEMA, Record
from cseb.text import plain, quantity

LARGEST = 2**22  # bytes; a record has some ten thousand


@dataclass(frozen=True, slots=True)
class Problem:
    """A file among the records that is not one, and why, in one line."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{plain(str(self.path))}: {self.reason}"


def read_record(path: Path) -> Record | Problem:
    """The record in a file, which is not waited for and is of bounded size."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)  # a third of the time that Python's files take
        try:
            found = os.fstat(file)
            if not stat.S_ISREG(found.st_mode):  # reading a pipe or a device may never end
                return Problem(path, "not a file")
            if not 0 < found.st_size <= LARGEST:
                return Problem(path, f"not a record: {quantity(found.st_size, 'byte')}")
            content = os.read(file, found.st_size)
        finally:
            os.close(file)
    except OSError as error:
        return Problem(path, f"cannot be read: {error.strerror}")
    return record_of(content, path)


def record_of(content: bytes, path: Path) -> Record | Problem:
    """The record in the bytes of such a file."""
    try:
        record = Record.model_validate_json(content)
    except ValidationError as error:
        return Problem(path, _reason(error))
    if path.name != f"{record.key}.json":
        return Problem(path, f"holds the record {plain(record.key)!r}; was it renamed?")
    return record


def _reason(error: ValidationError) -> str:
    if error.error_count() > 1000:  # such a list would take longer to make than to read the folder
        return f"not a record: {quantity(error.error_count(), 'error')}"
    errors = error.errors(include_url=False, include_context=False)
    for one in errors:
        if one["loc"] == ("format",):
            return f"format {plain(repr(one['input']))}; this version of cseb reads formats 1 to {SCHEMA}"
    where = ".".join(map(str, errors[0]["loc"]))
    return plain(f"not a record: {where}{': ' if where else ''}{errors[0]['msg']}")


def record_bytes(record: Record, target: Path) -> bytes:
    """What the file of a record holds. Raises: BadResults for one that would not read back."""
    text = record.model_dump_json(indent=2).encode() + b"\n"
    try:
        Record.model_validate_json(text)
    except ValidationError as error:  # such as seconds that are not a number: better now than when it is read
        raise BadResults(f"{target} would not read back: {_reason(error)}") from error
    return text
