"""From records to a table that no format is needed for: rows are methods, cells are statistics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isclose
from typing import Literal

from cseb.errors import BadResults
from cseb.results.notes import caption, footnotes, signature
from cseb.results.record import Record, Select
from cseb.results.stats import Cell, cell
from cseb.results.store import Problem, plain
from cseb.results.study import Study, gather, percent


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """What the cells below it have in common. tasks: one, or those each seed is averaged over."""

    title: str
    fraction: float
    size: int
    select: Select
    tasks: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One method. data_seen: what its training looked at; more than the subset is marked."""

    method: str
    data_seen: tuple[str, ...]
    cells: tuple[Cell, ...]

    @property
    def beyond(self) -> bool:
        """Whether training looked at anything but the subset."""
        return bool(set(self.data_seen) - {"subset"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What `report` prints, in whatever format. caption: what a cell is; notes: sentences; signature: one line."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    caption: str
    notes: tuple[str, ...]
    signature: str


def few_shot(
    records: Iterable[Record],
    problems: Sequence[Problem] = (),
    *,
    select: Literal["best", "last", "both"] = "best",
    order: Sequence[str] = (),
    seeds: Sequence[int] = (),
    tasks: Sequence[str] = (),
) -> Table:
    """Methods by shares of the corpus: mean ± sd over seeds of the average over tasks.

    order and seeds: those planned (a planned method without a record is shown as missing); tasks: those to average, by
    default all that share the protocol of the first. Raises: BadResults when the records cannot share a table.
    """
    study = gather(records, order, seeds)
    tasks = study.chosen(tasks)
    selects: tuple[Select, ...] = ("best", "last") if select == "both" else (select,)
    columns = [
        Column(
            title=f"{percent(fraction)} ({size:,})" + (f" {one}" if select == "both" else ""),
            fraction=fraction,
            size=size,
            select=one,
            tasks=tasks,
        )
        for size, fraction in study.sizes.items()
        for one in selects
    ]
    what = f"average of {len(tasks)} tasks" if len(tasks) > 1 else _bare(tasks[0])
    return _table("few-shot", f"Shares of the corpus, {what}", study, columns, problems)


def per_task(
    records: Iterable[Record],
    fraction: float,
    select: Select = "best",
    problems: Sequence[Problem] = (),
    *,
    order: Sequence[str] = (),
    seeds: Sequence[int] = (),
) -> Table:
    """Methods by tasks at one share of the corpus, with an average per protocol. Raises: BadResults."""
    study = gather(records, order, seeds)
    size = next((size for size, share in study.sizes.items() if isclose(share, fraction, rel_tol=1e-3)), None)
    if size is None:
        known = ", ".join(f"{share:g}" for share in study.sizes.values())
        raise BadResults(f"no record has the fraction {fraction:g}; known: {known}")
    measures = dict.fromkeys(study.tasks.values())
    columns = []
    for measure in measures:
        tasks = tuple(task for task, its_measure in study.tasks.items() if its_measure == measure)
        shown = [(_bare(task), tasks[place : place + 1]) for place, task in enumerate(tasks)]
        if len(tasks) > 1:
            shown.append((f"average {plain(measure)}" if len(measures) > 1 else "average", tasks))
        columns += [
            Column(title=title, fraction=study.sizes[size], size=size, select=select, tasks=group)
            for title, group in shown
        ]
    where = (
        "encoders as they stand"
        if study.untrained
        else f"{percent(study.sizes[size])} of the corpus ({size:,} sentences)"
    )
    return _table("per-task", f"Single tasks, {where}", study, columns, problems)


def _table(name: str, title: str, study: Study, columns: Sequence[Column], problems: Sequence[Problem]) -> Table:
    selects = sorted({column.select for column in columns})
    if "best" in selects and not study.records[0].protocol.dev:
        raise BadResults("no dev set has chosen a best checkpoint in these records; show the last one instead")
    rows = [
        Row(
            method=plain(method),
            data_seen=tuple(sorted({seen for size in study.sizes for seen in _data_seen(study, method, size)})),
            cells=tuple(
                cell(study.runs.get((method, column.size), {}), study.seeds, column.tasks, column.select)
                for column in columns
            ),
        )
        for method in study.methods
    ]
    # What is said below holds for what is shown: sizes and tasks that have a column, once each.
    sizes = {column.size: column.fraction for column in columns}
    tasks = tuple(dict.fromkeys(task for column in columns for task in column.tasks))
    notes = footnotes(
        study,
        problems,
        sizes=sizes,
        tasks=tasks,
        cells=[
            (f"{row.method} {columns[place].title}", found) for row in rows for place, found in enumerate(row.cells)
        ],
        beyond={row.method: row.data_seen for row in rows if row.beyond},
    )
    return Table(
        name=name,
        title=title,
        columns=tuple(columns),
        rows=tuple(rows),
        caption=caption(study, tasks, selects),
        notes=tuple(notes),
        signature=signature(study, sizes, tasks, selects),
    )


def _data_seen(study: Study, method: str, size: int) -> set[str]:
    return {seen for record in study.runs.get((method, size), {}).values() for seen in record.data_seen}


def _bare(task: str) -> str:
    """`sts12@1` as a heading: the version stands in the signature."""
    return plain(task).rpartition("@")[0] or plain(task)
