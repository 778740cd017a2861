"""A folder of records: one file per finished job, complete or absent, so that the folder itself says what is done."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from cseb.errors import BadResults
from cseb.records.items import Items, read_items
from cseb.records.record import SCHEMA, Length, Record, RecordSummary, TaskScore
from cseb.text import plain

KEY = re.compile(r"[0-9a-f]{16}")
LARGEST = 2**22  # bytes; a record has some ten thousand
ABANDONED = 3600  # seconds; a write takes less than one, so an older temporary belongs to a process that was killed
FIELDS = set(RecordSummary.model_fields)  # one for all summaries: a set of its own takes 2 kB
ALIKE = ("resolved", "parts", "method", "encoder", "corpus", "protocol", "data_seen")  # in most records of a folder
FULL = (errno.ENOSPC, errno.EDQUOT)
PROBE = bytes(2**16)  # what `prepare` writes to find a full disk


@dataclass(frozen=True, slots=True)
class Problem:
    """A file among the records that is not one, and why, in one line."""

    path: Path
    reason: str

    def __str__(self) -> str:
        return f"{plain(str(self.path))}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Store:
    """`runs/<key>.json` holds a record, `items/<key>.npz` its scores per pair or sentence as "<task>/<select>"."""

    folder: Path

    @property
    def runs(self) -> Path:
        """Where the records are."""
        return self.folder / "runs"

    @property
    def items(self) -> Path:
        """Where the scores per item are."""
        return self.folder / "items"

    def exists(self) -> bool:
        """Whether there is a folder of records. Raises: BadResults where nobody can tell."""
        try:
            return self.runs.is_dir()
        except OSError as error:  # such as a name that is too long, or a folder that only others may look into
            raise BadResults(f"{plain(str(self.folder))} cannot be read: {error.strerror}; name another") from error

    def prepare(self, *more: Path) -> None:
        """Make the folders and these `more`, prove that they can be written, remove what killed processes left.

        Raises: BadResults, before anything has been trained in vain.
        """
        for place in (self.folder, self.runs, self.items, *more):
            try:
                place.mkdir(exist_ok=True)
            except FileNotFoundError:
                raise BadResults(
                    f"{place} cannot be made: {place.parent} is missing; make it, or correct the path"
                ) from None
            except (FileExistsError, NotADirectoryError):
                raise BadResults(f"{place} cannot be a folder: a file is in its way; take another path") from None
            except OSError as error:
                raise _unwritable(place, error) from error
        for place in (self.runs, self.items, *more):
            _prove(place)

    def write(self, record: Record, items: Mapping[str, Items]) -> None:
        """Store one job, whole or not at all; the record appears last. Raises: BadResults."""
        if not KEY.fullmatch(record.key):
            raise BadResults(f"{record.key!r} cannot name a record; a key is sixteen hex digits")
        target = self.runs / f"{record.key}.json"
        files = {target: _text(record, target)}
        if items:
            files = {self.items / f"{record.key}.npz": _archive(items)} | files
        staged = {path: path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp") for path in files}
        try:
            # Both lie on the disk before either gets its name: a disk that fills up leaves nothing behind. Items that
            # got theirs stay, even without a record: they may be those of another worker on the same job.
            for path, content in files.items():
                with staged[path].open("xb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            for path, temporary in staged.items():
                temporary.replace(path)
        except OSError as error:
            raise _unwritable(target, error) from error
        finally:
            for temporary in staged.values():
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)

    def remove(self, key: str) -> None:
        """Take a job out again; the record goes first. Raises: BadResults."""
        for path in (self.runs / f"{key}.json", self.items / f"{key}.npz"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise _unwritable(path, error) from error

    def keys(self) -> set[str]:
        """Keys of all record files, by their names alone. Raises: BadResults when there is no such folder."""
        return {path.stem for path in self._entries() if path.suffix == ".json" and KEY.fullmatch(path.stem)}

    def done(self, keys: Iterable[str]) -> set[str]:
        """Those of `keys` whose record reads well, failed jobs included. Raises: BadResults."""
        return {key for key in self.keys() & set(keys) if isinstance(_read(self.runs / f"{key}.json"), Record)}

    def read(self, key: str) -> Record:
        """One record. Raises: BadResults."""
        found = _read(self.runs / f"{key}.json")
        if isinstance(found, Problem):
            raise BadResults(str(found))
        return found

    def find(self, key: str) -> Record | None:
        """The record of a job if there is one that reads well, at the price of one look."""
        found = _read(self.runs / f"{key}.json")
        return found if isinstance(found, Record) else None

    def read_items(self, key: str) -> dict[str, Items]:
        """Scores per item of one job, named "<task>/<select>". Raises: BadResults."""
        return read_items(self.items / f"{key}.npz")

    def load(self) -> tuple[list[Record], list[Problem]]:
        """All records by key, and every visible file among them that is not one. Raises: BadResults."""
        with _no_collection():
            found = list(self._all())
        return [one for one in found if isinstance(one, Record)], [one for one in found if isinstance(one, Problem)]

    def summaries(self) -> tuple[list[RecordSummary], list[Problem]]:
        """As `load`, in a third of the memory: for tables of large folders. Raises: BadResults."""
        records: list[RecordSummary] = []
        problems: list[Problem] = []
        shared: dict[Any, Any] = {}
        with _no_collection():
            for one in self._all():
                if isinstance(one, Problem):
                    problems.append(one)
                else:
                    records.append(_summary(one, shared))
        return records, problems

    def _all(self) -> Iterator[Record | Problem]:
        return (_read(path) for path in self._entries() if not path.name.startswith("."))

    def _entries(self) -> list[Path]:
        try:
            return sorted(self.runs.iterdir())
        except OSError as error:
            raise BadResults(
                f"no records in {self.folder}: {error.strerror}; name a folder cseb has written"
            ) from error


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """Millions of new objects, none of them garbage: looking for cycles takes twice as long as reading them."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(path: Path) -> Record | Problem:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):  # reading a pipe or a device may never end
            return Problem(path, "not a file")
        if not 0 < found.st_size <= LARGEST:
            return Problem(path, f"not a record: {found.st_size} bytes")
        record = Record.model_validate_json(path.read_bytes())
    except OSError as error:
        return Problem(path, f"cannot be read: {error.strerror}")
    except ValidationError as error:
        return Problem(path, _reason(error))
    if path.name != f"{record.key}.json":
        return Problem(path, f"holds the record {plain(record.key)!r}; was it renamed?")
    return record


def _summary(record: Record, shared: dict[Any, Any]) -> RecordSummary:
    """Less of a record that nobody else holds; what it has in common with others is kept once."""

    def once(value: Any, key: object = None) -> Any:
        return shared.setdefault(value if key is None else key, value)

    origin, trace = record.origin, record.trace
    object.__setattr__(origin, "versions", once(origin.versions, tuple(origin.versions.items())))
    object.__setattr__(origin, "code", once(origin.code, frozenset(origin.code.items())))
    kept = {name: getattr(record, name) for name in RecordSummary.model_fields}
    kept |= {name: once(kept[name]) for name in ALIKE}
    kept["scores"] = tuple(
        TaskScore(task=once(one.task), protocol=once(one.protocol), select=one.select, value=one.value)
        for one in record.scores
    )
    kept["trace"] = trace and Length(steps=trace.steps, best_step=trace.best_step)
    return RecordSummary.model_construct(FIELDS, **kept)


def _reason(error: ValidationError) -> str:
    if error.error_count() > 1000:  # such a list would take longer to make than to read the folder
        return f"not a record: {error.error_count()} errors"
    errors = error.errors(include_url=False, include_context=False)
    for one in errors:
        if one["loc"] == ("format",):
            return f"format {plain(repr(one['input']))}; this version of cseb reads formats 1 to {SCHEMA}"
    where = ".".join(map(str, errors[0]["loc"]))
    return plain(f"not a record: {where}{': ' if where else ''}{errors[0]['msg']}")


def _text(record: Record, target: Path) -> bytes:
    text = record.model_dump_json(indent=2).encode() + b"\n"
    try:
        Record.model_validate_json(text)
    except ValidationError as error:  # such as seconds that are not a number: better now than when it is read
        raise BadResults(f"{target} would not read back: {_reason(error)}") from error
    return text


def _archive(items: Mapping[str, Items]) -> bytes:
    arrays: dict[str, Any] = {name: np.asarray(values, dtype=np.float32) for name, values in items.items()}
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def _prove(place: Path) -> None:
    """Write and remove a file; remove temporaries that are old by the clock of the disk. Raises: BadResults."""
    probe = place / f".probe.{uuid.uuid4().hex}.tmp"
    try:
        try:
            with probe.open("xb") as file:
                file.write(PROBE)
                file.flush()
                os.fsync(file.fileno())
            now = probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)
        for path in place.glob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):  # another worker may be tidying up too
                if now - path.lstat().st_mtime > ABANDONED:  # a link is removed, never what it names
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError as error:
        raise _unwritable(place, error) from error


def _unwritable(path: Path, error: OSError) -> BadResults:
    hint = "free some space, or take another folder" if error.errno in FULL else "fix that, or take another folder"
    return BadResults(f"{plain(str(path))} cannot be written: {error.strerror or error}; {hint}")
