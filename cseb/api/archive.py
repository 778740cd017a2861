"""Pack folders of records for a repository: every record, chosen items and a table of all scores, in three files."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadResults, BadSpec, did_you_mean, one_of
from cseb.progress import counted
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.experiment.benchmark import Benchmark
    from cseb.records.record import Record
    from cseb.records.store import Store

TABLE = "scores.csv"
NONE = "none"
SELECTS = ("both", "best", "last")


@dataclass(frozen=True, slots=True)
class Packed:
    """What was written: records, how many of them with items, rows of the table, and bytes of the archive."""

    records: int
    with_items: int
    scores: int
    size: int


def archive(
    results: str | Path | Sequence[str | Path],
    out: str | Path,
    *,
    items: str | Sequence[str] = "",
    checkpoint: str = "both",
) -> Packed:
    """Pack the records of folders into ``records.zip`` of another, which every command then reads as it reads them.

    Beside it are written ``scores.csv``, the columns of `Results.frame` in full precision, and the benchmarks as they
    were run (of two with one name the first), less the folder where this machine has its data. Records are packed byte
    for byte; the same records give the same archive.

    Args:
        results: one folder or several; name `out` itself to add to the archive it has.
        out: the folder, made where there is none.
        items: methods whose scores per item are packed too, as labels of the records; "none", or "" for all.
        checkpoint: of which items are packed: ``best``, ``last`` or ``both``. A record that was scored with one
            checkpoint alone keeps its items.

    Returns:
        How much was packed.

    Raises:
        BadResults: where a file is no record, two folders have two records under one key, or the archive of `out` has
            records that would be lost.
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
    folder, stores = Path(out), [Store(Path(one)) for one in given]
    found = _gathered(stores)
    records = [one.record for one in found]
    if (old := archives.Archive.of(folder)) and (lost := old.names() - {f"{one.key}.json" for one in records}):
        raise BadResults(
            f"{old.path} has {quantity(len(lost), 'record')} not in {', '.join(str(one.folder) for one in stores)}; "
            f"name {folder} among the folders too, or take another --out"
        )
    wanted = _wanted(items, {one.method for one in records})
    kept = [one for one in found if one.record.method in wanted and one.items is not None]
    members = chain(
        ((one.name, one.content()) for one in found), ((one.items_name, one.chosen(checkpoint)) for one in kept)
    )
    content = archives.packed(counted(members, "packing records", len(found) + len(kept)))
    rows, table = _table(records)
    try:
        write_whole(folder / archives.NAME, [content])
        write_whole(folder / TABLE, [table])
        for benchmark in _benchmarks(stores, {one.benchmark for one in records}):
            write_whole(folder / f"benchmark-{benchmark.name}.yaml", [benchmarks.text(benchmark).encode()])
    except OSError as error:
        raise BadResults(f"{folder} cannot be written: {error.strerror or error}; take another folder") from None
    return Packed(len(found), len(kept), rows, len(content))


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


def _wanted(items: str | Sequence[str], known: set[str]) -> set[str]:
    """Methods whose items are packed. Raises: BadSpec."""
    from cseb.api.arguments import methods_of

    if items == NONE:
        return set()
    wanted = methods_of(items)
    for name in wanted:
        if name not in known:
            raise BadSpec(f"--items: no record of {name}; {did_you_mean(name, known)}")
    return set(wanted) or known


def _table(records: Iterable[Record]) -> tuple[int, bytes]:
    from cseb.api.results import COLUMNS, score_rows
    from cseb.text import csv_row

    rows = [csv_row(row) for row in score_rows(records)]
    file = io.StringIO()
    writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return len(rows), file.getvalue().encode()


def _benchmarks(stores: Sequence[Store], names: set[str]) -> Iterator[Benchmark]:
    from cseb.experiment.load_item_scores import as_it_was_run

    for name in sorted(names):
        held = (as_it_was_run(store.folder, name) for store in stores)
        if first := next(filter(None, held), None):
            yield first.model_copy(update={"data_dir": ""})
