"""Tables of words and numbers, such as comparisons, as text in five formats. `SHEET_FORMATS` names them all."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cseb.results.latex import tex  # one way to escape for each format
from cseb.results.render import code, pipe

GAP = 2  # spaces between columns
Value = float | int | str | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One row: its cells as they are read, and all that is known by name, in full precision."""

    cells: tuple[str, ...]
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table with its notes. name: what programs call it. The first column names the row."""

    name: str
    title: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]


def terminal(sheets: Sequence[Sheet], width: int = 0) -> str:
    """Plain text for `width` columns, 0 for those of this screen. A sheet that is wider becomes a list of its cells."""
    width = width or shutil.get_terminal_size().columns
    return "\n".join(_block(sheet, width) for sheet in sheets)


def markdown(sheets: Sequence[Sheet]) -> str:
    """Pipe tables as GitHub reads them, each with its notes as a list."""
    return "\n".join(_pipes(sheet) for sheet in sheets)


def latex(sheets: Sequence[Sheet]) -> str:
    """`table` environments with booktabs."""
    return "\n".join(_tabular(sheet, number) for number, sheet in enumerate(sheets, 1))


def comma_separated(sheets: Sequence[Sheet]) -> str:
    """One line for each row of every sheet, in full precision; empty where a sheet does not have a value."""
    names = dict.fromkeys(name for sheet in sheets for line in sheet.lines for name in line.values)
    file = io.StringIO()
    writer = csv.DictWriter(file, ["sheet", *names], lineterminator="\n")
    writer.writeheader()
    for sheet in sheets:
        for line in sheet.lines:
            writer.writerow({"sheet": sheet.name, **line.values})
    return file.getvalue()


def as_json(sheets: Sequence[Sheet]) -> str:
    """Everything there is; null where there is no number."""
    content = [
        {
            "name": sheet.name,
            "title": sheet.title,
            "rows": [dict(line.values) for line in sheet.lines],
            "notes": sheet.notes,
        }
        for sheet in sheets
    ]
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


SHEET_FORMATS: Mapping[str, Callable[[Sequence[Sheet]], str]] = {
    "terminal": terminal,
    "markdown": markdown,
    "latex": latex,
    "csv": comma_separated,
    "json": as_json,
}


def _block(sheet: Sheet, width: int) -> str:
    rows = [sheet.heads, *(line.cells for line in sheet.lines)]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    whole = sum(widths) + GAP * (len(widths) - 1)
    if whole <= width:
        lines = [(" " * GAP).join(cell.ljust(room) for cell, room in zip(row, widths, strict=True)) for row in rows]
        lines.insert(1, "─" * whole)
    else:
        label = max(map(len, sheet.heads[1:])) + GAP
        lines = []
        for line in sheet.lines:
            lines += textwrap.wrap(line.cells[0], width)
            for head, cell in zip(sheet.heads[1:], line.cells[1:], strict=True):
                lines += textwrap.wrap(
                    cell, width, initial_indent=f"  {head:<{label}}", subsequent_indent=" " * (label + 2)
                )
    notes = [
        piece
        for note in sheet.notes
        for piece in textwrap.wrap(note, width, subsequent_indent="  ", break_on_hyphens=False)
    ]
    return "\n".join(line.rstrip() for line in (sheet.title, "", *lines, *([""] if notes else []), *notes)) + "\n"


def _pipes(sheet: Sheet) -> str:
    lines = [f"**{pipe(sheet.title)}**", "", f"| {' | '.join(map(pipe, sheet.heads))} |"]
    lines.append(f"|{' --- |' * len(sheet.heads)}")
    for line in sheet.lines:
        name = code(line.cells[0]).replace("|", r"\|")
        lines.append(f"| {' | '.join((name, *map(pipe, line.cells[1:])))} |")
    return "\n".join([*lines, "", *(f"- {pipe(note)}" for note in sheet.notes)]) + "\n"


def _tabular(sheet: Sheet, number: int) -> str:
    lines = [
        r"% Needs \usepackage[T1]{fontenc}, textcomp, booktabs and graphicx.",
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{tex(sheet.title)}}}",
        rf"\label{{tab:{sheet.name}-{number}}}",
        r"\par\medskip",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"\begin{{tabular}}{{{'l' * len(sheet.heads)}}}",
        r"\toprule",
        rf"{' & '.join(map(tex, sheet.heads))} \\",
        r"\midrule",
        *(
            " & ".join((f"\\texttt{{{tex(line.cells[0])}}}", *map(_minus, line.cells[1:]))) + r" \\"
            for line in sheet.lines
        ),
        r"\bottomrule",
        r"\end{tabular}}",
        r"\par\smallskip",
        *(rf"{{\raggedright\footnotesize {tex(note)}\par}}" for note in sheet.notes),
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


def _minus(cell: str) -> str:
    """A cell in LaTeX, with a minus where a number has one."""
    return re.sub(r"(?<![\w)])-(?=\d)", "$-$", tex(cell))
