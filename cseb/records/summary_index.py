"""What summaries of a large folder were at the last reading, in the user's cache: a hundred thousand files in a second.

The files alone are the truth. A row stands for a file only while its size, its times and its inode are what they were
before it was read; anything else is read again, and so is everything where the index is damaged, or of another version.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import zipfile
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from platformdirs import user_cache_path
from pydantic import TypeAdapter, ValidationError

from cseb.data.bounded import open_regular
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.records.record import Cost, Length, Origin, PackedScores, RecordSummary, Subset
from cseb.version import __version__

FORMAT = 1
SEAL = 32  # bytes of the digest that comes first
LONGEST = 1 << 31  # bytes; ten million records
TEXT = 64  # characters of a key, a sha256 or a time; a record with longer ones has no row
FIELDS = set(RecordSummary.model_fields)  # one for all summaries: a set of its own takes 2 kB
TEMPLATES = TypeAdapter(list[RecordSummary])
OWN = ("versions", "code", "started", "finished")  # of an origin: two are no keys, two are of each record
COSTS = ("train_seconds", "score_seconds", "peak_rss_mb", "cpu_seconds")

Stamps = npt.NDArray[np.int64]  # (N, 4): size, modified and changed (ns), inode


@dataclass(slots=True, eq=False)
class SummaryIndex:
    """Summaries of files by row. names: of the files, (N,); stamps: as they were read; make: the summary of a row."""

    names: npt.NDArray[np.bytes_]
    stamps: Stamps
    make: Callable[[int], RecordSummary]

    def rows(self, names: Sequence[str], stamps: Stamps) -> list[int]:
        """The row of each of these files that has not changed since, -1 for any other."""
        known = {name.decode(): row for row, name in enumerate(self.names.tolist())}
        found = np.array([known.get(name, -1) for name in names])
        found[~(self.stamps[found] == stamps).all(axis=1)] = -1
        rows: list[int] = found.tolist()
        return rows

    @classmethod
    def of(cls, folder: Path) -> SummaryIndex | None:
        """The index of a folder of records, None if there is none that can be used."""
        try:
            with open_regular(_place(folder)) as file:
                content = file.read(LONGEST)
            if hashlib.blake2b(content[SEAL:], digest_size=SEAL).digest() != content[:SEAL]:
                return None
            with np.load(io.BytesIO(content[SEAL:]), allow_pickle=False) as held:
                columns = {name: held[name] for name in held.files}
            if columns["version"].tobytes() != _version():
                return None
            return cls(
                names=columns["names"],
                stamps=columns["stamps"],
                make=_maker(columns, TEMPLATES.validate_json(columns["templates"].tobytes())),
            )
        except (BadData, OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, ValidationError):
            return None


def write(folder: Path, names: Sequence[str], stamps: Stamps, summaries: Sequence[RecordSummary]) -> None:
    """Keep these summaries, with the names and stamps of their files. What cannot be kept costs time alone."""
    rows = [row for row, (name, one) in enumerate(zip(names, summaries, strict=True)) if _fits(name, one)]
    held = [summaries[row] for row in rows]
    if not held:
        return
    numbers: dict[object, int] = {}
    templates: list[str] = []
    which = []
    for one in held:
        alike = _alike(one)
        if alike not in numbers:
            numbers[alike] = len(templates)
            templates.append(one.model_copy(update={"scores": tuple(one.scores)}).model_dump_json())
        which.append(numbers[alike])
    values = np.full((len(held), max(len(one.scores) for one in held)), np.nan)
    for row, one in enumerate(held):
        values[row, : len(one.scores)] = PackedScores.of(one.scores).values
    columns: dict[str, Any] = {
        "version": np.frombuffer(_version(), dtype=np.uint8),
        "templates": np.frombuffer(f"[{','.join(templates)}]".encode(), dtype=np.uint8),
        "names": np.array([names[row].encode() for row in rows]),
        "stamps": stamps[rows],
        "which": np.array(which, dtype=np.int32),
        "texts": np.array([[text.encode() for text in _texts(one)] for one in held], dtype=f"S{TEXT}"),
        "whole": np.array([[one.seed, one.subset.size, *_length(one)] for one in held], dtype=np.int64),
        "fraction": np.array([one.subset.fraction for one in held]),
        "cost": np.array([[np.nan if (n := getattr(one.cost, c)) is None else n for c in COSTS] for one in held]),
        "values": values,
    }
    buffer = io.BytesIO()
    np.savez(buffer, **columns)
    content = buffer.getvalue()
    with contextlib.suppress(OSError):
        write_whole(_place(folder), [hashlib.blake2b(content, digest_size=SEAL).digest(), content])


def _place(folder: Path) -> Path:
    name = hashlib.sha256(str(folder.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:32]
    return user_cache_path("cseb") / "records" / f"{name}.index"


def _version() -> bytes:
    """An index of any other is not read."""
    return json.dumps([FORMAT, __version__, sorted(FIELDS), *map(_names, SLOTS)]).encode()


def _texts(one: RecordSummary) -> tuple[str, str, str, str]:
    return one.key, one.subset.sha256, one.origin.started, one.origin.finished


def _length(one: RecordSummary) -> tuple[int, int]:
    return (-1, -1) if one.trace is None else (one.trace.steps, one.trace.best_step)


def _fits(name: str, one: RecordSummary) -> bool:
    """Whether a row can hold it, to the letter."""
    texts = _texts(one)
    return name == f"{one.key}.json" and all(
        len(text) <= TEXT and text.isascii() and "\0" not in text for text in texts
    )


def _alike(one: RecordSummary) -> tuple[object, ...]:
    """Equal for summaries of one template."""
    origin = one.origin
    return (
        *(one.format, one.status, one.benchmark, one.method, one.resolved, one.data_seen, one.vary),  # parts: resolved
        *(one.encoder, one.corpus, one.outside, one.foreign, one.generated, one.overlap, one.protocol, one.failure),
        *(getattr(origin, name) for name in _names(Origin) if name not in OWN),
        *(tuple(origin.versions.items()), tuple(origin.code.items())),
        one.measured(),
    )


def _maker(
    columns: Mapping[str, npt.NDArray[Any]], templates: Sequence[RecordSummary]
) -> Callable[[int], RecordSummary]:
    """A function that makes the summary of a row. What rows share is one object: sizes, lengths, parts of a score."""
    which = columns["which"].tolist()
    texts, whole, fractions, cost, values = (columns[n] for n in ("texts", "whole", "fraction", "cost", "values"))
    lengths: dict[tuple[int, int], Length | None] = {(-1, -1): None}
    sizes: dict[tuple[int, float], tuple[int, float]] = {}
    bare = [dict(one.__dict__) for one in templates]
    once: dict[Any, Any] = {}
    heads = [once.setdefault(one.measured(), one.measured()) for one in templates]
    origins = [{name: getattr(one.origin, name) for name in _names(Origin)} for one in templates]

    def make(row: int) -> RecordSummary:
        number = which[row]
        key, sha256, started, finished = map(bytes.decode, texts[row].tolist())
        seed, size, *steps = whole[row].tolist()
        pair = (size, float(fractions[row]))
        size, fraction = sizes.setdefault(pair, pair)
        reach = tuple(steps)
        if reach not in lengths:
            lengths[reach] = _made(Length, *reach)
        spent = [None if number != number else number for number in cost[row].tolist()]  # noqa: PLR0124 (not a number)
        scores = PackedScores(heads[number], array("d", values[row, : len(heads[number])].tobytes()))
        held = bare[number] | {
            "key": key,
            "subset": _made(Subset, size, fraction, sha256),
            "seed": seed,
            "scores": scores,
            "trace": lengths[reach],
            "cost": _made(Cost, *spent),
            "origin": _made(Origin, *(origins[number] | {"started": started, "finished": finished}).values()),
        }
        return summary_of(held)

    return make


def summary_of(held: dict[str, Any]) -> RecordSummary:
    """A summary that has all of these fields, each as it was validated; pydantic's own way is three times as slow."""
    made = RecordSummary.__new__(RecordSummary)
    for name, value in (("__dict__", held), ("__pydantic_fields_set__", FIELDS)):
        object.__setattr__(made, name, value)
    object.__setattr__(made, "__pydantic_extra__", None)
    object.__setattr__(made, "__pydantic_private__", None)
    return made


def _names(kind: Any) -> list[str]:
    return [one.name for one in fields(kind)]


def _made(kind: type[Any], *values: Any) -> Any:
    """An object of what was validated when it was read from its file: looking at it again takes most of the time."""
    made = object.__new__(kind)
    for place, value in zip(SLOTS[kind], values, strict=True):
        place(made, value)
    return made


SLOTS: dict[type[Any], list[Callable[[object, object], None]]] = {
    kind: [getattr(kind, name).__set__ for name in _names(kind)] for kind in (Subset, Cost, Origin, Length)
}
