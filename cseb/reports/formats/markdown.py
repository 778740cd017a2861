"""Pipe tables as GitHub reads them, each with its notes as a list."""

from __future__ import annotations

import re
from collections.abc import Sequence

from cseb.reports.document import NOTE, Column, Entry, Grid, marked


def write(grids: Sequence[Grid]) -> str:
    """Return one table below the other."""
    return "\n".join(map(_table, grids))


def pipe(text: str) -> str:
    """Return running text that Markdown shows as it is."""
    return re.sub(r"([\\`*_<>\[\]#~|&])", r"\\\1", text)


def code(text: str) -> str:
    """Return a code span that contains `text` as it is."""
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", text)), default=0))
    gap = " " if "`" in text else ""
    return f"{fence}{gap}{text}{gap}{fence}"


def _table(grid: Grid) -> str:
    lines = [
        f"**{pipe(grid.title)}**",
        "",
        f"| {' | '.join(pipe(column.title) for column in grid.columns)} |",
        f"|{' --- |' * len(grid.columns)}",
        *(f"| {' | '.join(map(_cell, row, grid.columns))} |" for row in grid.rows),
    ]
    for block in (
        [pipe(marked(grid.caption, "Bold"))] if grid.caption else [],
        [f"- {pipe(marked(note, 'Bold'))}" for note in grid.notes],
        [code(grid.signature)] if grid.signature else [],
    ):
        lines += ["", *block] if block else []
    return "\n".join(lines) + "\n"


def _cell(entry: Entry, column: Column) -> str:
    if entry.code:
        return code(entry.text).replace("|", r"\|") + (f" {NOTE}" if entry.noted else "")
    if not column.numeric:
        return pipe(entry.whole())
    if not entry.bold:
        return entry.whole()
    return " ".join([f"**{entry.text} {entry.spread}".rstrip() + "**", *(f"({remark})" for remark in entry.remarks)])
