"""Tables as text: for a terminal, a README, a paper, a spreadsheet or a program. `FORMATS` names them all."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from cseb.results.figures import BEST, BEYOND
from cseb.results.latex import latex
from cseb.results.stats import Cell
from cseb.results.tables import Heading, Row, Table
from cseb.results.terminal import terminal, text


def markdown(table: Table) -> str:
    """A pipe table as GitHub reads it, then the notes as a list."""
    lines = [
        f"**{pipe(table.title)}**",
        "",
        f"| {pipe(table.stub)} | {' | '.join(pipe(column.title) for column in table.columns)} |",
        f"| --- |{' --- |' * len(table.columns)}",
    ]
    for row in table.rows:
        name = code(row.head.title).replace("|", r"\|") if row.method else pipe(row.head.title)
        cells = [_bold(text(table, row, place)) for place in range(len(row.cells))]
        lines.append(f"| {' | '.join((name + (f' {BEYOND}' if row.head.beyond else ''), *cells))} |")
    lines += ["", pipe(table.caption), "", *(f"- {pipe(note)}" for note in table.notes), "", code(table.signature)]
    return "\n".join(lines) + "\n"


def comma_separated(tables: Sequence[Table]) -> str:
    """One line for each cell of every table, in full precision; empty where there is no number."""
    file = io.StringIO()
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    for table, row, column, cell in _cells(tables):
        place = table.place(row, column)
        writer.writerow(
            {
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
        )
    return file.getvalue()


def as_json(tables: Sequence[Table]) -> str:
    """A list of tables, with the points of every seed; null where there is no number."""
    return json.dumps([_content(table) for table in tables], indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _content(table: Table) -> dict[str, object]:
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


def _each(render: Callable[[Table], str]) -> Callable[[Sequence[Table]], str]:
    """One table below the other."""
    return lambda tables: "\n".join(map(render, tables))


NUMBERS = (
    *("mean", "sd", "sem", "ci95", "median", "iqm"),
    *("n", "failed", "collapsed", "missing", "best"),
)
FIELDS = (
    *(
        "table",
        "encoder",
        "corpus",
        "row",
        "column",
        "method",
        "minus",
        "data_seen",
        "fraction",
        "size",
        "select",
        "tasks",
    ),
    *(*NUMBERS, "values", "keys", "signature"),
)
FORMATS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    "terminal": _each(terminal),
    "markdown": _each(markdown),
    "latex": _each(latex),
    "csv": comma_separated,
    "json": as_json,
}


def _cells(tables: Sequence[Table]) -> Iterator[tuple[Table, Row, Heading, Cell]]:
    for table in tables:
        for row in table.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                yield table, row, column, cell


def _numbers(cell: Cell) -> dict[str, float | int | bool | None]:
    return {name: getattr(cell, name) for name in NUMBERS}


def _heading(head: Heading) -> dict[str, object]:
    """What a heading says; what it leaves open is left out."""
    said = {name: getattr(head, name) for name in head.__slots__}
    return {name: value for name, value in said.items() if value not in ("", None, ())}


def _by_seed(found: Mapping[int, object]) -> dict[str, object]:
    return {str(seed): what for seed, what in found.items()}


def _bold(shown: str) -> str:
    """A number with the mark of the best, in bold."""
    number, mark, rest = shown.partition(BEST)
    return f"**{number}**{rest}" if mark else shown


def code(text: str) -> str:
    """A code span that holds `text` as it is."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    gap = " " if "`" in text else ""
    return f"{fence}{gap}{text}{gap}{fence}"


def pipe(text: str) -> str:
    """Running text that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]#~|&])", r"\\\1", text)
