"""Pack folders of records for a repository: every record, chosen items and a table of all scores, in a few files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadResults, BadSpec, did_you_mean, one_of
from cseb.progress import counted

if TYPE_CHECKING:
    from cseb.experiment.benchmark import Benchmark
    from cseb.records.archive import Archive
    from cseb.records.record import Record
    from cseb.records.store import Store

TABLE = "scores.csv"
NONE = "none"
SELECTS = ("both", "best", "last")


@dataclass(frozen=True, slots=True)
class Packed:
    """What was written: records, how many of them with items, rows of the table, the archive and its bytes.

    path: None where every record was archived already. before: records that were archived already, in rows of the table
    like the new ones.
    """

    records: int
    with_items: int
    scores: int
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
    """Pack the records of folders into an archive of another, which every command then reads as it reads them.

    The first archive of a folder is ``records.zip``. What lies there is never changed: records that it does not have
    go into ``records-2.zip``, more of them into ``records-3.zip``, and so on.

    Beside them are written ``scores.csv``, the columns of `Results.frame` in full precision for all that is archived,
    and the benchmarks as they were run (of two with one name the first, before all that of `out`), less the folder
    where this machine has its data. Records are packed byte for byte; the same records give the same archive.

    Args:
        results: one folder or several.
        out: the folder, made where there is none; it may be one of `results`.
        items: methods whose scores per item are packed too, as labels of the records; "none", or "" for all. Of new
            records alone: one that was archived without its items is not given them later.
        checkpoint: of which items are packed: ``best``, ``last`` or ``both``. A record that was scored with one
            checkpoint alone keeps its items.

    Returns:
        How much was packed.

    Raises:
        BadResults: where a file is no record, or two folders, `out` among them, have two records under one key.
        BadSpec: for methods that no record has.

    Examples:
        >>> import cseb
        >>> packed = cseb.archive("results", "packed", items="simcse")
        >>> len(cseb.load("packed")) == len(cseb.load("results")) == packed.records
        True
    """
    from cseb.data.files import write_whole
    from cseb.experiment import benchmark as benchmarks
    from cseb.records import archive as archives
    from cseb.records.store import Store

    one_of(SELECTS, checkpoint, "--select")
    given = [results] if isinstance(results, str | Path) else results
    target, stores = Store(Path(out)), [Store(Path(one)) for one in given]
    archives.refuse_gap(target.folder)
    held = target.archive()
    found = _gathered(stores)
    wanted = _wanted(items, {one.record.method for one in found})
    before = [target.read(name.removesuffix(".json")) for name in held.names()] if held else []
    new = [one for one in found if held is None or not _is_archived(one, target.folder, held)]
    kept = [one for one in new if one.record.method in wanted and one.items is not None]
    members = chain(
        ((one.name, one.content()) for one in new), ((one.items_name, one.chosen(checkpoint)) for one in kept)
    )
    content = archives.packed(counted(members, "packing records", len(new) + len(kept)))
    path = target.folder / archives.name_of(len(held.files) + 1 if held else 1) if new else None
    records = sorted([*before, *(one.record for one in new)], key=lambda one: one.key)
    rows, table = _table(records)
    try:
        if path is not None:
            write_whole(path, [content])
        write_whole(target.folder / TABLE, [table])
        for benchmark in _benchmarks([target, *stores], {one.benchmark for one in records}):
            write_whole(target.folder / f"benchmark-{benchmark.name}.yaml", [benchmarks.text(benchmark).encode()])
    except OSError as error:
        raise BadResults(f"{target.folder} cannot be written: {error.strerror or error}; take another folder") from None
    return Packed(len(new), len(kept), rows, len(content) if path else 0, path, len(before))


@dataclass(frozen=True, slots=True)
class _Found:
    """A record, a folder that has it, and one that has its items; None where none has."""

    record: Record
    store: Store
    items: Store | None

    @property
    def name(self) -> str:
        return f"runs/{self.record.key}.json"

    @property
    def items_name(self) -> str:
        return f"items/{self.record.key}.npz"

    def content(self) -> bytes:
        return self.store.content(self.record.key)

    def chosen(self, checkpoint: str) -> bytes:
        """The file of the items of one checkpoint, of all that there are where none is of that one."""
        from cseb.records.items import items_bytes

        assert self.items is not None, "asked only of records with items"
        items = self.items.read_items(self.record.key)
        of_one = {name: held for name, held in items.items() if name.endswith(f"/{checkpoint}")}
        return items_bytes(of_one or items)


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
    from cseb.records.record_file import LARGEST

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
    from cseb.commands.arguments import methods_of

    if items == NONE:
        return set()
    wanted = methods_of(items)
    for name in wanted:
        if name not in known:
            raise BadSpec(f"--items: no record of {name}; {did_you_mean(name, known)}")
    return set(wanted) or known


def _table(records: Iterable[Record]) -> tuple[int, bytes]:
    from cseb.commands.results import COLUMNS, score_rows
    from cseb.text import csv_row

    rows = [csv_row(row) for row in score_rows(records)]
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return len(rows), file.getvalue().encode()


def _benchmarks(stores: Sequence[Store], names: set[str]) -> Iterator[Benchmark]:
    """Each benchmark with the grids of all its folders: what one of them was run with describes its records alone."""
    from cseb.experiment.load_item_scores import as_it_was_run

    for name in sorted(names):
        held = [found for store in stores if (found := as_it_was_run(store.folder, name)) is not None]
        if held:
            yield reduce(_joined, held).model_copy(update={"data_dir": ""})


def _joined(first: Benchmark, other: Benchmark) -> Benchmark:
    """The first with the methods, sizes and seeds of the other too."""
    from cseb.methods.grammar import labels

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
