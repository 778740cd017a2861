"""Plain text for a screen or a pipe. No number is ever wrapped or cut."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence

from cseb.reports.document import BEST, Grid, marked
from cseb.text import GAP, aligned

NAME = 20  # characters that the names of rows have at least


def write(grids: Sequence[Grid], width: int = 0) -> str:
    """Return the text for `width` columns, 0 for those of the screen this runs in.

    A table of numbers that is wider has its remarks below the numbers; where that is not enough, names are wrapped and
    columns are split into several tables. A table of words that is wider becomes a list of its cells.
    """
    width = width or shutil.get_terminal_size().columns
    return "\n".join(_text(grid, width) for grid in grids)


def fold(name: str, width: int) -> list[str]:
    """Return a name on lines of at most `width`, broken after a space or comma or before a `+` where possible.

    Longer pieces are broken after a bracket or `=`, else anywhere.
    """
    pieces = re.split(r"(?=\+)|(?<=[,\s])", name)
    lines = [""]
    for piece in [part for each in pieces for part in ([each] if len(each) <= width else re.split(r"(?<=[(=])", each))]:
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1]:
            lines.append("")
        cut = [piece[start : start + width] for start in range(0, len(piece), width)]
        lines[-1:] = [lines[-1] + "".join(cut[:1]), *cut[1:]]
    return [line.rstrip() for line in lines]


def _text(grid: Grid, width: int) -> str:
    body = _numbers(grid, width) if grid.numeric else _words(grid, width)
    notes = [
        line
        for note in (grid.caption, *grid.notes)
        for line in textwrap.wrap(marked(note, BEST), width, subsequent_indent="  ", break_on_hyphens=False)
    ]
    below = [*notes, *([grid.signature] if grid.signature else [])]
    return "\n".join([grid.title, "", *body, *([""] if below else []), *below]) + "\n"


def _numbers(grid: Grid, width: int) -> list[str]:
    longest = max(map(len, [grid.columns[0].title, *(row[0].title for row in grid.rows)]))
    stub = min(longest, max(NAME, width // 3))
    wide, narrow = (_widths(grid, between) for between in (" ", "\n"))
    for widths, between in ((wide, " "), (narrow, "\n")):
        if stub <= (room := width - sum(widths)):  # names take the room that the numbers leave
            return _table(grid, range(1, len(grid.columns)), min(longest, room), between)
    stub = min(stub, NAME)
    tables = [_table(grid, places, stub, "\n") for places in _split(narrow, width - stub)]
    return [line for table in tables for line in ("", *table)][1:]


def _words(grid: Grid, width: int) -> list[str]:
    rows = [[entry.whole() for entry in row] for row in grid.rows]
    heads = [column.title for column in grid.columns]
    needed = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    if sum(needed) + GAP * (len(needed) - 1) <= width:
        return aligned(rows, heads)
    lines = []
    for name, *rest in rows:
        lines += textwrap.wrap(name, width)
        lines += aligned([(f"  {head}", cell) for head, cell in zip(heads[1:], rest, strict=True)], width=width)
    return lines


def _table(grid: Grid, places: Sequence[int], stub: int, between: str) -> list[str]:
    rows = [
        ["\n".join(fold(row[0].title, stub)), *(row[place].whole(between) for place in places)] for row in grid.rows
    ]
    return aligned(rows, [grid.columns[0].title, *(grid.columns[place].title for place in places)])


def _widths(grid: Grid, between: str) -> list[int]:
    """Return the characters that each column but the first takes, with the gap before it."""
    texts = [
        [column.title, *(line for row in grid.rows for line in row[place].whole(between).split("\n"))]
        for place, column in enumerate(grid.columns)
    ]
    return [GAP + max(map(len, lines)) for lines in texts[1:]]


def _split(widths: Sequence[int], room: int) -> Iterator[range]:
    """Return runs of columns that fit into `room`, at least one in each; the first is column 1."""
    start = 0
    for stop in range(1, len(widths) + 1):
        if stop == len(widths) or sum(widths[start : stop + 1]) > room:
            yield range(start + 1, stop + 1)
            start = stop
