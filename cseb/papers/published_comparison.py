"""The sheet of our numbers beside those that papers print for the same method, fraction, encoder and task.

`report --against published` prints it, so that a reproduction stands beside the paper that it reproduces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from cseb.analysis.stats import Cell
from cseb.papers.scores import Printed, departures, printed_name, published
from cseb.records.differences import tag
from cseb.records.record import Record
from cseb.reports.document import Line, Sheet
from cseb.reports.documents import number
from cseb.reports.tables import Heading, Table
from cseb.statistics.items import around

NOTES = (
    "difference: ours minus published. in their ±: whether our mean is within one published standard deviation. "
    "agrees: whether the difference is not significant at 5 %, by Welch's t-test where a paper prints a standard "
    "deviation over runs, by the prediction interval of a single run where it does not.",
    "other conditions: what differs, so that the two numbers are not comparable. Published values are as reported.",
)


def agrees(values: Sequence[float], row: Printed) -> bool:
    """Return whether seeds alone explain the difference of the mean of (n,) scores, n at least 2, from a published one.

    The test is Welch's t-test at 5 % where the paper prints a standard deviation over runs, else the prediction
    interval of one run.
    """
    n, variance = len(values), float(np.var(values, ddof=1))
    df, total = n - 1.0, variance * (1 + 1 / n)
    if row.std is not None and row.n_seeds is not None and row.n_seeds > 1:
        ours, theirs = variance / n, row.std**2 / row.n_seeds
        total = ours + theirs
        df = total**2 / (ours**2 / (n - 1) + theirs**2 / (row.n_seeds - 1)) if total else 1.0
    return float(np.mean(values)) - row.mean in around(0.0, total, df)


def compared_with_published(table: Table) -> Sheet:
    """Return every published number for a cell of the table, one line each; papers often print different ones."""
    lines = tuple(_lines(table))
    return Sheet(
        name="published",
        title=f"{table.title}, compared with published numbers",
        heads=("cell", "ours", "published", "where", "difference", "in their ±", "agrees", "other conditions"),
        lines=lines,
        notes=NOTES if lines else ("No paper in the collection reports a number for what is shown.",),
    )


def _lines(table: Table) -> Iterator[Line]:
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            place = table.place(row, column)
            if not place.minus and cell.mean is not None and (task := printed_name(place.tasks)):
                record = next(iter(table.study.runs[place.method, place.size or 0].values()))
                for printed in published(record.method, task, record.subset.fraction, record.encoder.name):
                    yield _line(place, cell, record, printed)


def _line(place: Heading, cell: Cell, record: Record, row: Printed) -> Line:
    conditions = "; ".join(departures(record, place.select or "last", row, place.tasks))
    gap = (cell.mean or 0.0) - row.mean
    inside = None if row.std is None else abs(gap) <= row.std
    alike = agrees(list(cell.values.values()), row) if not conditions and cell.n > 1 else None
    theirs = row.text + (f" ± {row.std_text}" if row.std is not None else "")
    theirs += f" (n={row.n_seeds})" if row.n_seeds else ""
    answers = {True: "yes", False: "no", None: "--"}
    return Line(
        cells=(
            *(place.title.strip(), f"{number(cell)} (n={cell.n})", theirs, row.where, f"{gap:+z.2f}"),
            *(answers[inside], answers[alike], conditions or "--"),
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
            "agrees": alike,
            "other_conditions": conditions,
        },
    )
