"""A table as text: for a terminal, a README, a paper, a spreadsheet or a program. `FORMATS` names them all."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import zip_longest

from cseb.results.stats import Cell
from cseb.results.tables import Row, Table

MARK = "†"
GAP = 2  # spaces between the columns of a terminal
LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "$": r"\$",
        "&": r"\&",
        "#": r"\#",
        "%": r"\%",
        "_": r"\_",
        "^": r"\textasciicircum{}",
        "~": r"\textasciitilde{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}\allowbreak{}",  # a signature may break here
        "`": r"\textasciigrave{}",
        "'": r"\textquotesingle{}",
        '"': r"{\char34}",  # a bare one is active in some languages of babel
        "±": r"$\pm$",
        "†": r"$^\dagger$",
    }
)


def terminal(table: Table, width: int = 0) -> str:
    """Plain text for a screen of `width` columns, 0 for the one this runs in. No number is ever wrapped or cut.

    Where a line is too long, remarks go below their numbers; where that is not enough, the names of methods are
    wrapped, and columns are dealt out over several tables.
    """
    width = width or shutil.get_terminal_size().columns
    stub = min(max(len(name) for name in ("method", *map(_method, table.rows))), max(20, width // 3))
    together, below = (_widths(table, between) for between in (" ", "\n"))
    if stub + sum(together) <= width:
        blocks, widths, between = [range(len(together))], together, " "
    else:
        stub = min(stub, max(20, width - sum(below)))
        blocks, widths, between = list(_deal(below, width - stub)), below, "\n"
    lines = [table.title, ""]
    for block in blocks:
        head = ["method".ljust(stub), *(table.columns[place].title.ljust(widths[place] - GAP) for place in block)]
        lines += [(" " * GAP).join(head), "─" * (stub + sum(widths[place] for place in block))]
        for row in table.rows:
            cells = [_fold(_method(row), stub), *(figures(row.cells[place], between).split("\n") for place in block)]
            room = [stub, *(widths[place] - GAP for place in block)]
            for parts in zip_longest(*cells, fillvalue=""):
                lines.append((" " * GAP).join(part.ljust(space) for part, space in zip(parts, room, strict=True)))
        lines.append("")
    for note in (table.caption, *table.notes):
        lines += textwrap.wrap(note, width, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(line.rstrip() for line in (*lines, table.signature)) + "\n"


def markdown(table: Table) -> str:
    """A pipe table as GitHub reads it, then the notes as a list."""
    lines = [
        f"**{_pipe(table.title)}**",
        "",
        f"| method | {' | '.join(_pipe(column.title) for column in table.columns)} |",
        f"| --- |{' --- |' * len(table.columns)}",
    ]
    for row in table.rows:
        name = _code(row.method).replace("|", r"\|") + (f" {MARK}" if row.beyond else "")
        lines.append(f"| {' | '.join((name, *map(figures, row.cells)))} |")
    lines += ["", _pipe(table.caption), "", *(f"- {_pipe(note)}" for note in table.notes), "", _code(table.signature)]
    return "\n".join(lines) + "\n"


def latex(table: Table) -> str:
    """A `table` environment to be input into a paper, with booktabs; caption and label are made from the data."""
    lines = [
        r"% Needs \usepackage{booktabs} and \usepackage[T1]{fontenc}.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        rf"\begin{{tabular}}{{l{'l' * len(table.columns)}}}",
        r"\toprule",
        rf"method & {' & '.join(_tex(column.title) for column in table.columns)} \\",
        r"\midrule",
    ]
    for row in table.rows:
        name = rf"\texttt{{{_tex(row.method)}}}" + (_tex(MARK) if row.beyond else "")
        lines.append(rf"{' & '.join((name, *(_tex(figures(cell)) for cell in row.cells)))} \\")
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        r"\par\smallskip",
        *(rf"{{\raggedright\footnotesize {_tex(note)}\par}}" for note in table.notes),
        rf"{{\raggedright\tiny\ttfamily {_tex(table.signature)}\par}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def comma_separated(table: Table) -> str:
    """One line for each method and column, in full precision; empty where there is no number."""
    file = io.StringIO()
    writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
    writer.writeheader()
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            writer.writerow(
                {
                    "method": row.method,
                    "data_seen": " ".join(row.data_seen),
                    "fraction": column.fraction,
                    "size": column.size,
                    "select": column.select,
                    "tasks": " ".join(column.tasks),
                    **_numbers(cell),
                    "values": " ".join(f"{seed}:{value!r}" for seed, value in cell.values.items()),
                    "signature": table.signature,
                }
            )
    return file.getvalue()


def as_json(table: Table) -> str:
    """Everything there is, with the points of every seed; null where there is no number."""
    content = {
        "name": table.name,
        "title": table.title,
        "caption": table.caption,
        "columns": [
            {
                "title": column.title,
                "fraction": column.fraction,
                "size": column.size,
                "select": column.select,
                "tasks": column.tasks,
            }
            for column in table.columns
        ],
        "rows": [
            {
                "method": row.method,
                "data_seen": row.data_seen,
                "cells": [
                    {**_numbers(cell), "values": _by_seed(cell.values), "absent": _by_seed(cell.absent)}
                    for cell in row.cells
                ],
            }
            for row in table.rows
        ],
        "notes": table.notes,
        "signature": table.signature,
    }
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


FIELDS = (
    *("method", "data_seen", "fraction", "size", "select", "tasks"),
    *("mean", "sd", "n", "failed", "collapsed", "missing", "values", "signature"),
)
FORMATS: Mapping[str, Callable[[Table], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
    "json": as_json,
}


def figures(cell: Cell, between: str = " ") -> str:
    """`72.31 ± 0.40 (n=4, 1 failed)`, with `between` before the bracket."""
    number = "--" if cell.mean is None else f"{cell.mean:.2f}" + ("" if cell.sd is None else f" ± {cell.sd:.2f}")
    counts = {"failed": cell.failed, "collapsed": cell.collapsed, "missing": cell.missing}
    remarks = [f"n={cell.n}"] if cell.n else []
    remarks += [f"{count} {what}" for what, count in counts.items() if count]
    return f"{number}{between}({', '.join(remarks)})"


def _numbers(cell: Cell) -> dict[str, float | int | None]:
    return {
        "mean": cell.mean,
        "sd": cell.sd,
        "n": cell.n,
        "failed": cell.failed,
        "collapsed": cell.collapsed,
        "missing": cell.missing,
    }


def _by_seed(found: Mapping[int, object]) -> dict[str, object]:
    return {str(seed): what for seed, what in found.items()}


def _method(row: Row) -> str:
    return f"{row.method} {MARK}" if row.beyond else row.method


def _fold(name: str, width: int) -> list[str]:
    """The name of a method on lines of at most `width`, broken before a `+` or after a comma where that can be."""
    lines = [""]
    for piece in re.split(r"(?=\+)|(?<=,)", name):
        if len(lines[-1]) + len(piece) > width and lines[-1]:
            lines.append("")
        cut = [piece[start : start + width] for start in range(0, len(piece), width)]
        lines[-1:] = [lines[-1] + "".join(cut[:1]), *cut[1:]]
    return lines


def _widths(table: Table, between: str) -> list[int]:
    """Characters that each column takes, with the gap before it."""
    return [
        GAP + max(len(line) for text in _texts(table, place, between) for line in text.split("\n"))
        for place in range(len(table.columns))
    ]


def _texts(table: Table, place: int, between: str) -> list[str]:
    return [table.columns[place].title, *(figures(row.cells[place], between) for row in table.rows)]


def _deal(widths: Sequence[int], room: int) -> Iterator[range]:
    """Columns in runs that fit into `room`, at least one in each."""
    start = 0
    for stop in range(1, len(widths) + 1):
        if stop == len(widths) or sum(widths[start : stop + 1]) > room:
            yield range(start, stop)
            start = stop


def _code(text: str) -> str:
    """A code span that holds `text` as it is."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    gap = " " if "`" in text else ""
    return f"{fence}{gap}{text}{gap}{fence}"


def _pipe(text: str) -> str:
    """Running text that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]#~|&])", r"\\\1", text)


def _tex(text: str) -> str:
    return text.translate(LATEX)
