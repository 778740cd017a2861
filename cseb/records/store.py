"""A folder of records: one file per finished job, complete or absent, so that the folder itself says what is done."""

from __future__ import annotations

import contextlib
import gc
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cseb.errors import BadResults
from cseb.progress import counted
from cseb.records.archive import Archive, refuse_gap
from cseb.records.items import LARGEST as LARGEST_ITEMS
from cseb.records.items import Items, items_bytes, items_of, read_items
from cseb.records.record import Length, Record, RecordSummary, TaskScore
from cseb.records.record_file import LARGEST, Problem, read_record, record_bytes, record_of
from cseb.records.writable import prepare, unwritable
from cseb.text import plain

KEY = re.compile(r"[0-9a-f]{16}")
ALIKE = ("resolved", "parts", "method", "encoder", "corpus", "protocol", "data_seen")  # in most records of a folder


@dataclass(frozen=True, slots=True)
class Store:
    """`runs/<key>.json` holds a record, `items/<key>.npz` its scores per pair or sentence as "<task>/<select>".

    What archives (`records.zip`, `records-2.zip`, ...) hold counts as lying beside them. They are never changed, and no
    key stands for two records.
    """

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
            return self.runs.is_dir() or self.archive() is not None
        except OSError as error:  # such as a name that is too long, or a folder that only others may look into
            raise BadResults(f"{plain(str(self.folder))} cannot be read: {error.strerror}; name another") from error

    def archive(self) -> Archive | None:
        """What the archives beside the records hold, if there are any. Raises: BadResults."""
        return Archive.of(self.folder)

    def is_archived(self, key: str) -> bool:
        """Whether a record lies in an archive, and so cannot be made again here. Raises: BadResults."""
        held = self.archive()
        return held is not None and f"runs/{key}.json" in held

    def prepare(self, *more: Path) -> None:
        """Make the folders and these `more`, prove that they can be written, remove what killed processes left.

        Raises: BadResults, before anything has been trained in vain.
        """
        prepare((self.folder, self.runs, self.items, *more), written=(self.runs, self.items, *more))

    def write(self, record: Record, items: Mapping[str, Items]) -> None:
        """Store one job, whole or not at all; the record appears last. Raises: BadResults."""
        if not KEY.fullmatch(record.key):
            raise BadResults(f"{record.key!r} cannot name a record; a key is sixteen hex digits")
        self._refuse_archived(record.key)
        target = self.runs / f"{record.key}.json"
        files = {target: record_bytes(record, target)}
        if items:
            files = {self.items / f"{record.key}.npz": items_bytes(items)} | files
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
            raise unwritable(target, error) from error
        finally:
            for temporary in staged.values():
                with contextlib.suppress(OSError):
                    temporary.unlink(missing_ok=True)

    def remove(self, key: str) -> None:
        """Take a job out again; the record goes first. Raises: BadResults."""
        self._refuse_archived(key)
        for path in (self.runs / f"{key}.json", self.items / f"{key}.npz"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise unwritable(path, error) from error

    def keys(self) -> set[str]:
        """Keys of all record files, by their names alone. Raises: BadResults when there is no such folder."""
        return {name[:-5] for name in self._listed() if name.endswith(".json") and KEY.fullmatch(name[:-5])}

    def done(self, keys: Iterable[str]) -> set[str]:
        """Those of `keys` whose record reads well, failed jobs included. Raises: BadResults."""
        held = self.archive()
        return {key for key in self.keys() & set(keys) if isinstance(self._read(f"{key}.json", held), Record)}

    def read(self, key: str) -> Record:
        """One record. Raises: BadResults."""
        found = self._read(f"{key}.json", self.archive())
        if isinstance(found, Problem):
            raise BadResults(str(found))
        return found

    def find(self, key: str) -> Record | None:
        """The record of a job if there is one that reads well, at the price of one look. Raises: BadResults."""
        found = self._read(f"{key}.json", self.archive())
        return found if isinstance(found, Record) else None

    def read_items(self, key: str) -> dict[str, Items]:
        """Scores per item of one job, named "<task>/<select>". Raises: BadResults."""
        path, held = self.items / f"{key}.npz", self.archive()
        if held is None or path.exists():
            return read_items(path)
        if (name := f"items/{key}.npz") in held:
            return items_of(held.path(name) / name, held.read(name, LARGEST_ITEMS))
        if (record := f"runs/{key}.json") in held:
            raise BadResults(f"{plain(str(held.path(record)))} leaves out the items of {key}")
        return read_items(path)

    def content(self, key: str) -> bytes:
        """A record as it was written, to the byte. Raises: BadResults."""
        self.read(key)
        held, member = self.archive(), f"runs/{key}.json"
        return held.read(member, LARGEST) if held and member in held else (self.runs / f"{key}.json").read_bytes()

    def place(self, key: str) -> tuple[str, str]:
        """Where the record and its items lie, for people; "" for items that are not kept. Raises: BadResults."""
        held, found = self.archive(), []
        for path in (self.runs / f"{key}.json", self.items / f"{key}.npz"):
            member = path.relative_to(self.folder).as_posix()
            inside = f"{held.path(member)}, {member}" if held is not None and member in held else ""
            found.append(str(path) if path.is_file() else inside)
        return found[0], found[1]

    def load(self) -> tuple[list[Record], list[Problem]]:
        """All records by key, and every visible file among them that is not one. Raises: BadResults."""
        with _no_collection():
            found = list(self._all())
        return [one for one in found if isinstance(one, Record)], [one for one in found if isinstance(one, Problem)]

    def summaries(self) -> tuple[list[RecordSummary], list[Problem]]:
        """Return the same as `load` in a tenth of the memory, for tables. Raises: BadResults."""
        records: list[RecordSummary] = []
        problems: list[Problem] = []
        shared: dict[Any, Any] = {}
        with _no_collection():
            for record in self._all():
                if isinstance(record, Problem):
                    problems.append(record)
                else:
                    records.append(_summary(record, shared))
        return records, problems

    def _all(self) -> Iterator[Record | Problem]:
        names, held = self._names(), self.archive()
        return (self._read(name, held) for name in counted(names, "reading records", len(names)))

    def _names(self) -> list[str]:
        """Of all visible files among the records, in order. Raises: BadResults."""
        return [name for name in self._listed() if not name.startswith(".")]

    def _listed(self) -> list[str]:
        refuse_gap(self.folder)
        held = self.archive()
        try:
            names = os.listdir(self.runs)  # noqa: PTH208 (a path for each of many files takes half a kB)
        except OSError as error:
            if held is None:
                raise self._no_records(error) from error
            names = []
        return sorted({*names, *held.names()} if held else names)

    def _no_records(self, error: OSError) -> BadResults:
        """What to say of a folder without records; those right below it that have some are named."""
        missing = isinstance(error, FileNotFoundError) and self.folder.is_dir()
        why = f"it has no folder {self.runs.name}" if missing else error.strerror
        below: list[str] = []
        with contextlib.suppress(OSError, BadResults):  # what cannot be looked into is not named
            below = [one.name for one in sorted(self.folder.iterdir()) if Store(one).exists()]
        others = f"{', '.join(below[:5])} below it" if below else "a folder cseb has written"
        return BadResults(f"no records in {plain(str(self.folder))}: {why}; name {plain(others)}")

    def _read(self, name: str, held: Archive | None) -> Record | Problem:
        """The record in a file, or in the archive. Raises: BadResults where they hold two under one name."""
        path, member = self.runs / name, f"runs/{name}"
        if held is None or member not in held:
            return read_record(path)
        content = held.read(member, LARGEST)
        if path.exists() and path.read_bytes() != content:
            raise BadResults(
                f"{plain(str(path))} and {plain(str(held.path(member)))} hold two records under one name; "
                "remove the file"
            )
        return record_of(content, held.path(member) / member)

    def _refuse_archived(self, key: str) -> None:
        if self.is_archived(key):
            raise BadResults(f"{key} lies in the archive of {plain(str(self.folder))}, which is never changed")


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


def _summary(record: Record, shared: dict[Any, Any]) -> RecordSummary:
    """Return the summary of a record. Values that records have in common are stored once."""

    def once(name: str, value: Any, key: object = None) -> Any:
        return shared.setdefault((name, value if key is None else key), value)

    origin, trace = record.origin, record.trace
    object.__setattr__(origin, "versions", once("versions", origin.versions, tuple(origin.versions.items())))
    object.__setattr__(origin, "code", once("code", origin.code, frozenset(origin.code.items())))
    fields = {name: getattr(record, name) for name in RecordSummary.model_fields}
    fields |= {name: once(name, fields[name]) for name in ALIKE}
    fields["scores"] = tuple(
        TaskScore(
            task=once("task", score.task),
            protocol=once("task", score.protocol),
            select=once("task", score.select),
            value=score.value,
        )
        for score in record.scores
    )
    fields["trace"] = trace and Length(steps=trace.steps, best_step=trace.best_step)
    return RecordSummary.model_construct(**fields)
