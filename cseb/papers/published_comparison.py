"""Our numbers beside those that papers print for the same method, fraction, encoder and task."""

from __future__ import annotations

from collections.abc import Iterator

from cseb.analysis.comparable import tag
from cseb.analysis.stats import Cell
from cseb.analysis.study import Study
from cseb.papers.printed import Printed
from cseb.papers.reproduce import agreement
from cseb.papers.scores import departures, printed_name, published
from cseb.records.record import Record
from cseb.reports.cell_text import number
from cseb.reports.sheet import Line, Sheet
from cseb.reports.tables import Heading, Table

HEADS = ("cell", "ours", "published", "where", "difference", "in their ±", "agrees", "other conditions")


def compared_with_published(table: Table) -> Sheet:
    """Every printed number for a cell of the table, one line each; several papers often print different ones."""
    lines = [line for place, cell in _cells(table) for line in _lines(table.study, place, cell)]
    notes = [
        "difference: ours minus published, in points. in their ±: whether our mean is within one published standard "
        "deviation. agrees: whether the difference is not significant at 5 %, by Welch's t-test where a paper prints a "
        "standard deviation over runs, by the prediction interval of a single run where it does not.",
        "other conditions: what differs, so that the two numbers are not comparable. Published values are as printed.",
    ]
    if not lines:
        notes = ["No paper in the collection reports a number for what is shown."]
    return Sheet(
        name="published",
        title=f"{table.title}, compared with published numbers",
        heads=HEADS,
        lines=tuple(lines),
        notes=tuple(notes),
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


def _line(place: Heading, cell: Cell, record: Record, row: Printed) -> Line:
    mean = cell.mean or 0.0
    gap = mean - row.mean
    inside = None if row.std is None else abs(gap) <= row.std
    otherwise = departures(record, place.select or "last", row, place.tasks)
    tested = None if otherwise else agreement(cell, row)
    agrees = None if tested is None else tested.consistent
    theirs = (
        row.text
        + (f" ± {row.std_text}" if row.std is not None else "")
        + (f" (n={row.n_seeds})" if row.n_seeds else "")
    )
    words = {True: "yes", False: "no", None: "--"}
    return Line(
        cells=(
            place.title.strip(),
            f"{number(cell)} (n={cell.n})",
            theirs,
            row.where,
            f"{gap:+z.2f}",
            words[inside],
            words[agrees],
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
