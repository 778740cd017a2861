"""A folder of records: one file per finished job, complete or absent; and the search for one of them."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cseb.data.bounded import read_bytes, shown
from cseb.data.files import ANOTHER, prepare, written
from cseb.errors import BadData, BadResults, did_you_mean
from cseb.progress import counted
from cseb.records.archive import Archive
from cseb.records.items import LARGEST as LARGEST_ITEMS
from cseb.records.items import Items, items_bytes, items_of, read_items
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


KEY = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class Store:
    """A folder with `runs/<key>.json`, a record, and `items/<key>.npz`, its scores per example as "<task>/<select>".

    Members of its archives (`records.zip.xz`, `items.zip`, ...) count as files of the folder; they are never changed.
    """

    folder: Path

    @property
    def runs(self) -> Path:
        """The folder of the records."""
        return self.folder / "runs"

    @property
    def items(self) -> Path:
        """The folder of the scores per example."""
        return self.folder / "items"

    def exists(self) -> bool:
        """Return whether there is a folder of records. Raises: BadResults if it cannot be read."""
        try:
            return self.runs.is_dir() or self.archive() is not None
        except OSError as error:  # such as a name that is too long
            raise BadResults(f"{plain(str(self.folder))} cannot be read: {error.strerror}; name another") from error

    def archive(self) -> Archive | None:
        """Return the archives of the folder; None if there are none. Raises: BadResults."""
        return Archive.of(self.folder)

    def is_archived(self, key: str) -> bool:
        """Return whether an archive has the record, which then cannot be replaced. Raises: BadResults."""
        archive = self.archive()
        return archive is not None and f"runs/{key}.json" in archive

    def prepare(self, *more: Path) -> None:
        """Make the folders and `more`, check that they can be written, and remove files that killed processes left.

        Raises: BadResults, before any training.
        """
        prepare((self.folder, self.runs, self.items, *more), checked=(self.runs, self.items, *more))

    def write(self, record: Record, items: Mapping[str, Items] | None) -> None:
        """Store one job, whole or not at all; the record appears last. Raises: BadResults.

        Without `items`, those of an earlier record of the job are removed; None keeps them.
        """
        if not KEY.fullmatch(record.key):
            raise BadResults(f"{record.key!r} cannot name a record; a key is sixteen hex digits")
        self._refuse_archived(record.key)
        target = self.runs / f"{record.key}.json"
        files = {target: record_bytes(record, target)}
        if items:
            files = {self.items / f"{record.key}.npz": items_bytes(items)} | files
        staged = {path: path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp") for path in files}
        try:
            # Both are on the disk before either gets its name: a full disk leaves nothing behind. Items that got their
            # name stay even without a record: they may be those of another worker on the same job.
            with written(target, ANOTHER):
                for path, content in files.items():
                    with staged[path].open("xb") as file:
                        file.write(content)
                        file.flush()
                        os.fsync(file.fileno())
                for path, temporary in staged.items():
                    temporary.replace(path)
                if items is not None and not items:
                    (self.items / f"{record.key}.npz").unlink(missing_ok=True)
        finally:
            for temporary in staged.values():
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)

    def remove(self, key: str) -> None:
        """Remove a job, its record first. Raises: BadResults."""
        self._refuse_archived(key)
        for path in (self.runs / f"{key}.json", self.items / f"{key}.npz"):
            with written(path, ANOTHER):
                path.unlink(missing_ok=True)

    def keys(self) -> set[str]:
        """Return the keys of all record files by their names alone. Raises: BadResults if there is no such folder."""
        return {name[:-5] for name in self._names() if name.endswith(".json") and KEY.fullmatch(name[:-5])}

    def done(self, keys: Iterable[str]) -> set[str]:
        """Return those of `keys` that have a readable record, also of a failed job. Raises: BadResults."""
        archive = self.archive()
        return {key for key in self.keys() & set(keys) if isinstance(self._read(f"{key}.json", archive), Record)}

    def read(self, key: str) -> Record:
        """Return one record. Raises: BadResults."""
        record = self._read(f"{key}.json", self.archive())
        if isinstance(record, Problem):
            raise BadResults(str(record))
        return record

    def find(self, key: str) -> Record | None:
        """Return the record of a job if it has a readable one. Raises: BadResults."""
        record = self._read(f"{key}.json", self.archive())
        return record if isinstance(record, Record) else None

    def read_items(self, key: str) -> dict[str, Items]:
        """Return the scores per example of one job as "<task>/<select>". Raises: BadResults."""
        path, archive = self.items / f"{key}.npz", self.archive()
        if archive is None or path.exists():
            return read_items(path)
        if (name := f"items/{key}.npz") in archive:
            return items_of(archive.path(name) / name, archive.read(name, LARGEST_ITEMS))
        if (record := f"runs/{key}.json") in archive:
            raise BadResults(f"{plain(str(archive.path(record)))} leaves out the items of {key}")
        return read_items(path)

    def content(self, key: str) -> bytes:
        """Return a record as it was written. Raises: BadResults."""
        self.read(key)
        archive, member = self.archive(), f"runs/{key}.json"
        if archive is not None and member in archive:
            return archive.read(member, LARGEST)
        return (self.runs / f"{key}.json").read_bytes()

    def place(self, key: str) -> tuple[str, str]:
        """Return where the record and its items are, as text; "" for items that are not there. Raises: BadResults."""
        archive, places = self.archive(), []
        for path in (self.runs / f"{key}.json", self.items / f"{key}.npz"):
            member = path.relative_to(self.folder).as_posix()
            archived = f"{archive.path(member)}, {member}" if archive is not None and member in archive else ""
            places.append(str(path) if path.is_file() else archived)
        return places[0], places[1]

    def load(self) -> tuple[list[Record], list[Problem]]:
        """Return all records by key, and every visible file among them that is not a record. Raises: BadResults."""
        names = [name for name in self._names() if not name.startswith(".")]
        archive = self.archive()
        collects = gc.isenabled()
        gc.disable()  # millions of new objects, none of them garbage: the search for cycles would double the time
        try:
            results = [self._read(name, archive) for name in counted(names, "reading records", len(names))]
        finally:
            if collects:
                gc.enable()
        records = [result for result in results if isinstance(result, Record)]
        return records, [result for result in results if isinstance(result, Problem)]

    def _names(self) -> list[str]:
        """Return the names of all files among the records, in order. Raises: BadResults."""
        archive = self.archive()
        names = archive.names() if archive is not None else set()
        try:
            return sorted({*os.listdir(self.runs), *names})  # noqa: PTH208 (no path for each of many files)
        except OSError as error:
            if archive is None:
                raise self._no_records(error) from error
            return sorted(names)

    def _no_records(self, error: OSError) -> BadResults:
        """Return the error for a folder without records; it names folders inside that have some."""
        missing = isinstance(error, FileNotFoundError) and self.folder.is_dir()
        why = f"it has no folder {self.runs.name}" if missing else error.strerror
        inside: list[str] = []
        with contextlib.suppress(OSError, BadResults):
            inside = [path.name for path in sorted(self.folder.iterdir()) if Store(path).exists()]
        others = f"{', '.join(inside[:5])} below it" if inside else "a folder cseb has written"
        return BadResults(f"no records in {plain(str(self.folder))}: {why}; name {plain(others)}")

    def _read(self, name: str, archive: Archive | None) -> Record | Problem:
        """Return the record of a file name. Raises: BadResults if file and archive have different records."""
        path, member = self.runs / name, f"runs/{name}"
        if archive is None or member not in archive:
            return read_record(path)
        content = archive.read(member, LARGEST)
        if path.exists() and path.read_bytes() != content:
            raise BadResults(
                f"{plain(str(path))} and {plain(str(archive.path(member)))} have two records under one name; "
                "remove the file"
            )
        return record_of(content, archive.path(member) / member)

    def _refuse_archived(self, key: str) -> None:
        if self.is_archived(key):
            raise BadResults(f"{key} is in an archive of {plain(str(self.folder))}, which is never changed")


def find(text: str, results: Path) -> tuple[Store, Record]:
    """Return the folder and the record that `text` names. Raises: BadResults if it names none or several."""
    if text.endswith(".json"):
        path = Path(text)
        if not path.is_file():
            raise BadResults(f"{plain(text)}: no such record")
        store = Store(path.parent.parent)
        if path.parent.name != store.runs.name:  # a record of the folder beside it would be read
            raise BadResults(f"{plain(text)} is in no folder {store.runs.name}; put it into FOLDER/{store.runs.name}")
        return store, store.read(path.stem)
    store = Store(results)
    keys = store.keys()
    matches = sorted(key for key in keys if key.startswith(text))
    if len(matches) == 1:
        return store, store.read(matches[0])
    if matches:
        raise BadResults(
            f"{len(matches)} keys in {results} begin with {plain(text)}; give more of it: {', '.join(matches[:3])}"
        )
    raise BadResults(f"{results} has no record {plain(text)!r}; {did_you_mean(text, keys)}")
