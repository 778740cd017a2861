"""Our numbers beside those that papers print for the same method, share, encoder and task."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cseb.registry import TASK_GROUPS
from cseb.results.figures import figures
from cseb.results.published import Printed, departures, published
from cseb.results.record import Record
from cseb.results.sheet import Line, Sheet
from cseb.results.stats import Cell
from cseb.results.study import Study, tag
from cseb.results.tables import Heading, Table
from cseb.statistics.published import one_run, several_runs

HEADS = ("cell", "ours", "published", "where", "difference", "in their ±", "agrees", "measured otherwise")


def beside_published(table: Table, study: Study) -> Sheet:
    """Every printed number for a cell of the table, one line each; several papers often print different ones."""
    lines = [line for place, cell in _cells(table) for line in _lines(study, place, cell)]
    notes = [
        "Difference: ours less theirs, in points. In their ±: whether our mean is within one of their standard "
        "deviations. Agrees: whether such a difference can come from random numbers alone, at a level of 5 %: Welch's "
        "t where a paper prints a spread, the prediction interval of a single run where it does not.",
        "Measured otherwise: conditions that differ, so that the numbers do not compare. Theirs are as printed.",
    ]
    if not lines:
        notes = ["No paper of those that cseb knows prints a number for what is shown."]
    return Sheet(
        name="published", title=f"{table.title}, beside the papers", heads=HEADS, lines=tuple(lines), notes=tuple(notes)
    )


def _cells(table: Table) -> Iterator[tuple[Heading, Cell]]:
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            place = table.place(row, column)
            if not place.minus and cell.mean is not None:
                yield place, cell


def _lines(study: Study, place: Heading, cell: Cell) -> Iterator[Line]:
    runs = study.runs[place.method, place.size or 0]
    record = next(iter(runs.values()))
    task = printed_name(place.tasks)
    for row in published(record.method, task, record.subset.fraction, record.encoder.name) if task else ():
        yield _line(place, cell, record, row)


def printed_name(tasks: tuple[str, ...]) -> str:
    """What the papers call this task or average, such as sts12 or sts-avg; "" for an average that none of them has."""
    names = tuple(task.partition("@")[0] for task in tasks)
    if len(names) == 1:
        return names[0]
    return next((f"{group}-avg" for group, members in TASK_GROUPS.items() if set(names) == set(members)), "")


def _line(place: Heading, cell: Cell, record: Record, row: Printed) -> Line:
    mean = cell.mean or 0.0
    gap = mean - row.mean
    inside = None if row.std is None else abs(gap) <= row.std
    otherwise = departures(record, place.select or "last", row)
    agrees = None if otherwise else _agrees(cell, row)
    theirs = (
        row.text
        + (f" ± {row.std_text}" if row.std is not None else "")
        + (f" (n={row.n_seeds})" if row.n_seeds else "")
    )
    told = {True: "yes", False: "no", None: "--"}
    return Line(
        cells=(
            place.title.strip(),
            figures(cell),
            theirs,
            row.where,
            f"{gap:+z.2f}",
            told[inside],
            told[agrees],
            "; ".join(otherwise) or "--",
        ),
        values={
            "encoder": tag(record.encoder),
            "corpus": tag(record.corpus),
            "method": place.method,
            "fraction": place.fraction,
            "size": place.size,
            "select": place.select,
            "tasks": " ".join(place.tasks),
            "mean": cell.mean,
            "sd": cell.sd,
            "n": cell.n,
            "published": row.mean,
            "published_sd": row.std,
            "published_n": row.n_seeds,
            "where": row.where,
            "difference": gap,
            "in_their_spread": inside,
            "agrees": agrees,
            "measured_otherwise": "; ".join(otherwise),
        },
    )


def _agrees(cell: Cell, row: Printed) -> bool | None:
    """None where one of ours has no spread to judge by."""
    if cell.n < 2:
        return None
    values = np.array(list(cell.values.values()))
    if row.std is not None and row.n_seeds is not None and row.n_seeds > 1:
        return several_runs(values, row.mean, row.std, row.n_seeds).consistent
    return one_run(values, row.mean).consistent
