"""The sheet of our numbers beside those that papers print for the same method, fraction, encoder and task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cseb.analysis.comparable import tag
from cseb.analysis.stats import Cell
from cseb.papers.printed import Printed
from cseb.papers.scores import departures, printed_name, published
from cseb.records.record import Record, Select
from cseb.reports.document import Line, Sheet
from cseb.reports.documents import number
from cseb.reports.tables import Heading, Table
from cseb.statistics.published import Agreement, one_run, several_runs

NOTES = (
    "difference: ours minus published. in their ±: whether our mean is within one published standard deviation. "
    "agrees: whether the difference is not significant at 5 %, by Welch's t-test where a paper prints a standard "
    "deviation over runs, by the prediction interval of a single run where it does not.",
    "other conditions: what differs, so that the two numbers are not comparable. Published values are as reported.",
)


@dataclass(frozen=True, slots=True)
class Match:
    """A mean of ours beside one published number.

    departures: conditions that differ, so that the two are not comparable. agreement: None below two seeds or if they
    are not comparable.
    """

    ours: Cell
    row: Printed
    departures: tuple[str, ...]
    agreement: Agreement | None

    @property
    def theirs(self) -> str:
        """Return `75.81 ± 0.41 (n=5)`, as printed."""
        spread = f" ± {self.row.std_text}" if self.row.std is not None else ""
        return self.row.text + spread + (f" (n={self.row.n_seeds})" if self.row.n_seeds else "")


def match(record: Record, select: Select, ours: Cell, row: Printed, tasks: Sequence[str]) -> Match:
    """Compare a cell with a published number. record: any record of the cell.

    The test is Welch's t-test at 5 % where the paper prints a standard deviation over runs, else the prediction
    interval of one run.
    """
    differences = tuple(departures(record, select, row, tasks))
    agreement = None
    if not differences and ours.n > 1:
        values = np.array(list(ours.values.values()))
        if row.std is not None and row.n_seeds is not None and row.n_seeds > 1:
            agreement = several_runs(values, row.mean, row.std, row.n_seeds)
        else:
            agreement = one_run(values, row.mean)
    return Match(ours, row, differences, agreement)


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
    compared = match(record, place.select or "last", cell, row, place.tasks)
    gap = (cell.mean or 0.0) - row.mean
    inside = None if row.std is None else abs(gap) <= row.std
    agrees = compared.agreement.consistent if compared.agreement else None
    conditions = "; ".join(compared.departures)
    answers = {True: "yes", False: "no", None: "--"}
    return Line(
        cells=(
            *(place.title.strip(), f"{number(cell)} (n={cell.n})", compared.theirs, row.where, f"{gap:+z.2f}"),
            *(answers[inside], answers[agrees], conditions or "--"),
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
            "other_conditions": conditions,
        },
    )
