"""A folder of records: one file per finished job, complete or absent, so that the folder itself says what is done."""

from __future__ import annotations

import contextlib
import errno
import gc
import io
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cseb.errors import BadResults
from cseb.progress import counted, tell
from cseb.records.items import Items, read_items
from cseb.records.record import Length, PackedScores, Record, RecordSummary
from cseb.records.record_file import Problem, read_file, text_of
from cseb.records.summary_index import FIELDS, Stamps, SummaryIndex
from cseb.records.summary_index import write as write_index
from cseb.text import plain

KEY = re.compile(r"[0-9a-f]{16}")
ABANDONED = 3600  # seconds; a write takes less than one, so an older temporary belongs to a process that was killed
MANY = 1000  # files read anew, from which on it is worth while to keep what tables need of them
ALIKE = ("resolved", "parts", "method", "encoder", "corpus", "protocol", "data_seen")  # in most records of a folder
FULL = (errno.ENOSPC, errno.EDQUOT)
PROBE = bytes(2**16)  # what `prepare` writes to find a full disk


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
        files = {target: text_of(record, target)}
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
        return {name[:-5] for name in self._listed() if name.endswith(".json") and KEY.fullmatch(name[:-5])}

    def done(self, keys: Iterable[str]) -> set[str]:
        """Those of `keys` whose record reads well, failed jobs included. Raises: BadResults."""
        return {key for key in self.keys() & set(keys) if isinstance(read_file(self.runs / f"{key}.json"), Record)}

    def read(self, key: str) -> Record:
        """One record. Raises: BadResults."""
        found = read_file(self.runs / f"{key}.json")
        if isinstance(found, Problem):
            raise BadResults(str(found))
        return found

    def find(self, key: str) -> Record | None:
        """The record of a job if there is one that reads well, at the price of one look."""
        found = read_file(self.runs / f"{key}.json")
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
        """As `load`, in a third of the memory: for tables of large folders. Raises: BadResults.

        Of a large folder, files that have not changed since they were last read are taken from an index.
        """
        records: list[RecordSummary] = []
        problems: list[Problem] = []
        shared: dict[Any, Any] = {}
        with _no_collection():
            names = self._names()
            many = len(names) >= MANY
            stamps = _stamps(self.runs, names) if many else None  # before they are read: what is written later differs
            index = SummaryIndex.of(self.runs) if many else None
            rows = index.rows(names, stamps) if index is not None and stamps is not None else [-1] * len(names)
            at = []
            for place, row in enumerate(counted(rows, "reading records", len(rows))):
                if row >= 0 and index is not None:
                    records.append(index.make(row))
                elif isinstance(one := read_file(self.runs / names[place]), Problem):
                    problems.append(one)
                    continue
                else:
                    records.append(_summary(one, shared))
                at.append(place)
            if stamps is not None and sum(rows[place] < 0 for place in at) >= MANY:
                index = None
                tell("keeping an index of the records")
                write_index(self.runs, [names[place] for place in at], stamps[at], records)
        return records, problems

    def _all(self) -> Iterator[Record | Problem]:
        names = self._names()
        return (read_file(self.runs / name) for name in counted(names, "reading records", len(names)))

    def _names(self) -> list[str]:
        """Of all visible files among the records, in order. Raises: BadResults."""
        return [name for name in self._listed() if not name.startswith(".")]

    def _listed(self) -> list[str]:
        try:
            return sorted(os.listdir(self.runs))  # noqa: PTH208 (a path for each of many files takes half a kB)
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


def _stamps(folder: Path, names: Iterable[str]) -> Stamps:
    """What changes when a file does, a row for each; a file that has gone meanwhile has what no file has."""

    def stamp(path: str) -> tuple[int, int, int, int]:
        try:
            found = os.stat(path)  # noqa: PTH116 (a hundred thousand times)
        except OSError:
            return -1, -1, -1, -1
        return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino

    return np.array([stamp(f"{folder}/{name}") for name in names], dtype=np.int64)


def _summary(record: Record, shared: dict[Any, Any]) -> RecordSummary:
    """Less of a record that nobody else holds; what it has in common with others is kept once."""

    def once(name: str, value: Any, key: object = None) -> Any:
        return shared.setdefault((name, value if key is None else key), value)

    origin, trace = record.origin, record.trace
    object.__setattr__(origin, "versions", once("versions", origin.versions, tuple(origin.versions.items())))
    object.__setattr__(origin, "code", once("code", origin.code, frozenset(origin.code.items())))
    kept = {name: getattr(record, name) for name in RecordSummary.model_fields}
    kept |= {name: once(name, kept[name]) for name in ALIKE}
    packed = PackedScores.of(record.scores)
    packed.heads = once("heads", packed.heads)
    kept["scores"] = packed
    kept["trace"] = trace and Length(steps=trace.steps, best_step=trace.best_step)
    return RecordSummary.model_construct(FIELDS, **kept)


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
