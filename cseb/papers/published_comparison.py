"""The sheet of our numbers beside those that papers print for the same method, fraction, encoder and task."""

from __future__ import annotations

from collections.abc import Iterator

from cseb.analysis.comparable import tag
from cseb.analysis.stats import Cell
from cseb.papers.printed import Printed
from cseb.papers.reproduce import match
from cseb.papers.scores import printed_name, published
from cseb.records.record import Record
from cseb.reports.cell_text import number
from cseb.reports.document import Line, Sheet
from cseb.reports.tables import Heading, Table

NOTES = (
    "difference: ours minus published. in their ±: whether our mean is within one published standard deviation. "
    "agrees: whether the difference is not significant at 5 %, by Welch's t-test where a paper prints a standard "
    "deviation over runs, by the prediction interval of a single run where it does not.",
    "other conditions: what differs, so that the two numbers are not comparable. Published values are as reported.",
)


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
