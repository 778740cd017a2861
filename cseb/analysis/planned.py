"""The plan of a grid, from the benchmark file beside its records: methods, seeds and kind of table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cseb.data.bounded import read_yaml
from cseb.errors import BadBenchmark, BadData
from cseb.methods.grammar import labels

if TYPE_CHECKING:
    from cseb.analysis.study import StudyQuery
    from cseb.records.record import Record


@dataclass(frozen=True, slots=True)
class Planned:
    """The grid of a benchmark. table: the kind of table, "" for the default."""

    methods: tuple[str, ...]
    seeds: int
    table: str


def planned_of(results: Path, records: Sequence[Record]) -> list[Planned]:
    """Return the grids that the records of a folder belong to, as they were run. Raises: BadBenchmark."""
    paths = [results / f"benchmark-{name}.yaml" for name in sorted({record.benchmark for record in records})]
    return [_read(path) for path in paths if path.is_file()]


def as_planned(query: StudyQuery, records: Sequence[Record], planned: Sequence[Planned]) -> StudyQuery:
    """Return the query with the planned order and seeds, so that a missing run is visible, and a checkpoint."""
    order = dict.fromkeys(method for grid in planned for method in grid.methods)
    seeds = {record.seed for record in records}.union(*(range(grid.seeds) for grid in planned))
    select = query.select or ("best" if any(record.protocol.dev for record in records) else "last")
    return replace(query, order=tuple(order), seeds=tuple(sorted(seeds)), select=select)


def table_of(planned: Sequence[Planned]) -> tuple[str, str]:
    """Return the kind of table of the only benchmark and its method or option; "" where there are none or several."""
    kind, _, name = (planned[0].table if len(planned) == 1 else "").partition(" ")
    return kind, name


def _read(path: Path) -> Planned:
    try:
        fields: Any = read_yaml(path)
        methods = fields["methods"]
        return Planned(
            methods=tuple(labels(methods if isinstance(methods, str) else ",".join(methods))),
            seeds=min(int(fields["seeds"]), 10_000),
            table=str(fields.get("table", "")),
        )
    except (BadData, AttributeError, KeyError, TypeError, ValueError) as error:
        why = error if isinstance(error, BadData) else f"{path} is not a benchmark that cseb has written: {error!r}"
        raise BadBenchmark(str(why)) from None
