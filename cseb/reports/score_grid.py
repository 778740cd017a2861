"""A table of scores as the blocks of a document: what every cell shows, and what programs read of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from cseb.analysis.stats import Cell
from cseb.reports.cell_text import number, remarks
from cseb.reports.document import Column, Curves, Entry, Grid
from cseb.reports.tables import Heading, Row, Table

NUMBERS = (
    *("mean", "sd", "sem", "ci95", "median", "iqm"),
    *("n", "failed", "collapsed", "missing", "best"),
)
FIELDS = (
    *("table", "encoder", "corpus", "row", "column", "method", "minus", "data_seen"),
    *("fraction", "size", "select", "tasks"),
    *(*NUMBERS, "values", "keys", "signature"),
)


def score_grid(table: Table) -> Grid:
    """The table with the text of every cell."""
    return Grid(
        name=table.name,
        label=table.label,
        title=table.title,
        columns=(Column(title=table.stub), *map(_column, table.columns)),
        rows=tuple((_name(row), *_entries(table, row)) for row in table.rows),
        caption=table.caption,
        notes=table.notes,
        signature=table.signature,
        fields=FIELDS,
        flat=lambda: _flat(table),
        nested=lambda: _nested(table),
    )


def curves(table: Table) -> Curves | None:
    """One curve for each method of a table of sizes; None where there are not two sizes."""
    held = {row.head.title: _points(table, row) for row in table.rows if row.method}
    held = {title: points for title, points in held.items() if len(points) > 1}
    return Curves(title=table.title, spread=table.spreads, series=held) if held else None


def _points(table: Table, row: Row) -> tuple[tuple[int, Cell], ...]:
    """Cells with a mean at the first checkpoint shown, by size; without training there is no size to draw at."""
    first = next((column.select for column in table.columns), None)
    found = [
        (column.size, cell)
        for column, cell in zip(table.columns, row.cells, strict=True)
        if column.size and column.select == first and cell.mean is not None
    ]
    return tuple(sorted(found, key=lambda point: point[0]))


def _column(head: Heading) -> Column:
    return Column(title=head.title, code=bool(head.method), noted=_seen(head), numeric=True)


def _name(row: Row) -> Entry:
    return Entry(text=row.head.title, code=bool(row.method), noted=_seen(row.head))


def _seen(head: Heading) -> str:
    """What training looked at beyond the subset."""
    return ", ".join(one for one in head.data_seen if one != "subset")


def _entries(table: Table, row: Row) -> Iterator[Entry]:
    for column, cell in zip(table.columns, row.cells, strict=True):
        signed = bool(row.head.minus or column.minus)
        mean, _, spread = number(cell, table.spread, signed=signed).partition(" ")
        points = {seed: f"{value:.2f}" for seed, value in cell.values.items()}
        yield Entry(
            text=mean,
            spread=spread,
            remarks=tuple(remarks(cell, signed=signed)),
            incomplete=bool(cell.absent),
            bold=bool(cell.best),
            value=cell.mean,
            seeds=dict(sorted({**points, **cell.absent}.items())),
            keys=cell.keys,
        )


def _flat(table: Table) -> Iterator[dict[str, object]]:
    """One row for each cell."""
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            place = table.place(row, column)
            yield {
                "table": table.name,
                "encoder": table.encoder,
                "corpus": table.corpus,
                "row": row.head.title,
                "column": column.title,
                "method": place.method,
                "minus": place.minus,
                "data_seen": " ".join(place.data_seen),
                "fraction": place.fraction,
                "size": place.size,
                "select": place.select,
                "tasks": " ".join(place.tasks),
                **_numbers(cell),
                "values": " ".join(f"{seed}:{value!r}" for seed, value in cell.values.items()),
                "keys": " ".join(f"{seed}:{key}" for seed, key in cell.keys.items()),
                "signature": table.signature,
            }


def _nested(table: Table) -> dict[str, object]:
    return {
        "name": table.name,
        "title": table.title,
        "encoder": table.encoder,
        "corpus": table.corpus,
        "caption": table.caption,
        "columns": [_heading(column) for column in table.columns],
        "rows": [
            {
                **_heading(row.head),
                "cells": [
                    {
                        **_numbers(cell),
                        "values": _by_seed(cell.values),
                        "absent": _by_seed(cell.absent),
                        "keys": _by_seed(cell.keys),
                    }
                    for cell in row.cells
                ],
            }
            for row in table.rows
        ],
        "rest": _heading(table.rest),
        "notes": table.notes,
        "signature": table.signature,
    }


def _numbers(cell: Cell) -> dict[str, float | int | bool | None]:
    return {name: getattr(cell, name) for name in NUMBERS}


def _heading(head: Heading) -> dict[str, object]:
    """What a heading says; what it leaves open is left out."""
    said = {name: getattr(head, name) for name in head.__slots__}
    return {name: value for name, value in said.items() if value not in ("", None, ())}


def _by_seed(found: Mapping[int, object]) -> dict[str, object]:
    return {str(seed): what for seed, what in found.items()}
