"""Pack folders of records for a repository: every record and chosen scores per example, in two files.

    python -m benchmarks.archive RESULTS ... --out FOLDER --items simcse,micse --select best

Every command reads FOLDER like any other folder of records. Its first archives are `records.zip.xz` and `items.zip`.
Archives are never changed: new records go into `records-2.zip.xz` and so on. Items of records that were archived before
are not added later.
"""

from __future__ import annotations

import argparse
import io
import lzma
import sys
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from cseb.commands.results import methods_of
from cseb.data.files import write_whole
from cseb.errors import BadResults, BadSpec, CsebError, did_you_mean, one_of
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.benchmark import Benchmark, stored_benchmark
from cseb.methods.grammar import labels
from cseb.records.archive import NAME, Archive
from cseb.records.items import items_bytes
from cseb.records.record import Record
from cseb.records.store import LARGEST, Store
from cseb.text import quantity

NONE = "none"
SELECTS = ("both", "best", "last")
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of every member: the same records give the same bytes


@dataclass(frozen=True, slots=True)
class Packed:
    """The records that were written, how many of them with items, the archive and the bytes of both archives.

    path: None where every record was archived already. before: records that were archived already.
    """

    records: int
    with_items: int
    size: int
    path: Path | None
    before: int


def archive(
    results: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    items: str | Sequence[str] = "",
    checkpoint: str = "both",
) -> Packed:
    """Pack the records of folders into an archive of another.

    out: the folder, made if it is missing; it may be one of `results`. items: methods whose scores per example are
    packed too, as labels of the records; "none", or "" for all. checkpoint: of which scores per example are packed:
    best, last or both; a record that was scored at one checkpoint only keeps its scores. Raises: BadResults if a file
    is no record, or two folders, `out` among them, have two records under one key; BadSpec for methods that no record
    has.
    """
    one_of(SELECTS, checkpoint, "--select")
    given = [results] if isinstance(results, str | Path) else results
    target, stores = Store(Path(out)), [Store(Path(one)) for one in given]
    held = target.archive()
    found = _gathered(stores)
    wanted = _wanted(items, {one.record.method for one in found})
    before = [target.read(name.removesuffix(".json")) for name in held.names()] if held else []
    new = [one for one in found if held is None or not _is_archived(one, target.folder, held)]
    kept = [one for one in new if one.record.method in wanted and one.items is not None]
    path, items_path = next_archives(target.folder)
    contents = {}
    if new:  # records repeat each other, so that they are compressed together
        members = ((one.name, one.content()) for one in sorted(new, key=_alike))
        contents[path] = lzma.compress(packed(members, zipfile.ZIP_STORED), preset=9)
    if kept:
        contents[items_path] = packed((f"items/{one.record.key}.npz", one.chosen(checkpoint)) for one in kept)
    try:
        for name, content in contents.items():
            write_whole(name, [content])
        for benchmark in _benchmarks([target, *stores], {one.benchmark for one in (*before, *(n.record for n in new))}):
            write_whole(target.folder / f"benchmark-{benchmark.name}.yaml", [benchmarks.text(benchmark).encode()])
    except OSError as error:
        raise BadResults(f"{target.folder} cannot be written: {error.strerror or error}; take another folder") from None
    return Packed(len(new), len(kept), sum(map(len, contents.values())), path if new else None, len(before))


@dataclass(frozen=True, slots=True)
class _Found:
    """A record, a folder that has it, and one that has its items; None where none has."""

    record: Record
    store: Store
    items: Store | None

    @property
    def name(self) -> str:
        return f"runs/{self.record.key}.json"

    def content(self) -> bytes:
        return self.store.content(self.record.key)

    def chosen(self, checkpoint: str) -> bytes:
        """The file of the items of one checkpoint, of all that there are where none is of that one."""
        assert self.items is not None, "asked only of records with items"
        items = self.items.read_items(self.record.key)
        of_one = {name: held for name, held in items.items() if name.endswith(f"/{checkpoint}")}
        return items_bytes(of_one or items)


def next_archives(folder: Path) -> tuple[Path, Path]:
    """Return the paths of the next archives of a folder: of records, and of scores per example."""
    numbers = [int(name[1] or 1) for path in folder.glob("*.zip*") if (name := NAME.fullmatch(path.name))]
    number = max(numbers, default=0) + 1
    suffix = "" if number == 1 else f"-{number}"
    return folder / f"records{suffix}.zip.xz", folder / f"items{suffix}.zip"


def _gathered(stores: Sequence[Store]) -> list[_Found]:
    """Every record, in the order of the keys. Raises: BadResults."""
    found: dict[str, _Found] = {}
    for store in stores:
        records, problems = store.load()
        if problems:
            raise BadResults(f"{problems[0]}; an archive is complete or none, so remove that file or run its job again")
        for record in records:
            items = store if store.place(record.key)[1] else None
            first = found.setdefault(record.key, _Found(record, store, items))
            if first.store is not store and first.content() != store.content(record.key):
                raise BadResults(
                    f"{first.store.folder} and {store.folder} have two records {record.key}; name one of them"
                )
            if first.items is None:
                found[record.key] = replace(first, items=items)
    if not found:
        raise BadResults(f"{', '.join(str(one.folder) for one in stores)}: no record to pack; name a folder with some")
    return [found[key] for key in sorted(found)]


def _is_archived(one: _Found, folder: Path, held: Archive) -> bool:
    """Whether the folder's archives have this record. Raises: BadResults where they have another under its key."""
    if one.name not in held:
        return False
    if one.content() != held.read(one.name, LARGEST):
        raise BadResults(
            f"{one.store.folder} and {held.path(one.name)} have two records {one.record.key}; "
            f"archives are never changed: remove the new one, or take another --out than {folder}"
        )
    return True


def _wanted(items: str | Sequence[str], known: set[str]) -> set[str]:
    """Methods whose items are packed. Raises: BadSpec."""
    if items == NONE:
        return set()
    wanted = methods_of(items)
    for name in wanted:
        if name not in known:
            raise BadSpec(f"--items: no record of {name}; {did_you_mean(name, known)}")
    return set(wanted) or known


def _alike(one: _Found) -> tuple[str, int, int]:
    """Return an order in which similar records follow each other, which compresses best."""
    return one.record.method, one.record.subset.size, one.record.seed


def _benchmarks(stores: Sequence[Store], names: set[str]) -> Iterator[Benchmark]:
    """Each benchmark with the grids of all its folders: what one of them was run with describes its records alone."""
    for name in sorted(names):
        held = [found for store in stores if (found := stored_benchmark(store.folder, name)) is not None]
        if held:
            yield reduce(_joined, held).model_copy(update={"data_dir": ""})


def _joined(first: Benchmark, other: Benchmark) -> Benchmark:
    """The first with the methods, sizes and seeds of the other too."""
    methods = dict.fromkeys((*labels(first.methods), *labels(other.methods)))
    wider = {
        axis: {*getattr(first, axis), *getattr(other, axis)} for axis in ("fractions", "sizes") if getattr(first, axis)
    }
    return first.model_copy(
        update={
            "methods": ", ".join(methods),
            "per_method": {**other.per_method, **first.per_method},
            "seeds": max(first.seeds, other.seeds),
            **{axis: tuple(sorted(values)) for axis, values in wider.items()},
        }
    )


def packed(members: Iterable[tuple[str, bytes]], compression: int = zipfile.ZIP_LZMA) -> bytes:
    """Return a zip file of these members; the same ones give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members:
            member = zipfile.ZipInfo(name, EPOCH)
            member.create_system, member.external_attr = 3, 0o644 << 16  # as on Unix, wherever it is made
            file.writestr(member, content, compression)
    return buffer.getvalue()


def main(words: Sequence[str] | None = None) -> None:
    """Pack the folders that the command line names, and print what was written."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="+", type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--items", default="")
    parser.add_argument("--select", default="both", choices=SELECTS)
    given = parser.parse_args(words)
    try:
        made = archive(given.results, given.out, items=given.items, checkpoint=given.select)
    except CsebError as error:
        sys.exit(f"archive: {error}")
    if made.path is None:
        print(f"nothing new: every record is in an archive of {given.out} already")
        return
    before = f", beside {quantity(made.before, 'record')} archived before" if made.before else ""
    print(
        f"{quantity(made.records, 'record')}, {made.with_items} of them with items, in {made.path} "
        f"({made.size / 1e6:.1f} MB with items){before}"
    )


if __name__ == "__main__":
    main()
