"""A table on a screen."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from cseb.results.figures import BEYOND, figures
from cseb.results.tables import Row, Table

GAP = 2  # spaces between columns


def terminal(table: Table, width: int = 0) -> str:
    """Plain text for a screen of `width` columns, 0 for the one this runs in. No number is ever wrapped or cut.

    Where a line is too long, remarks go below their numbers; where that is not enough, the names of methods are
    wrapped, and columns are dealt out over several tables.
    """
    width = width or shutil.get_terminal_size().columns
    stub = min(max(len(name) for name in (table.stub, *map(title, table.rows))), max(20, width // 3))
    together, below = (_widths(table, between) for between in (" ", "\n"))
    if stub + sum(together) <= width:
        blocks, widths, between = [range(len(together))], together, " "
    else:
        stub = min(stub, max(20, width - sum(below)))
        blocks, widths, between = list(_deal(below, width - stub)), below, "\n"
    lines = [table.title, ""]
    for block in blocks:
        head = [table.stub.ljust(stub), *(table.columns[place].title.ljust(widths[place] - GAP) for place in block)]
        lines += [(" " * GAP).join(head), "─" * (stub + sum(widths[place] for place in block))]
        for row in table.rows:
            cells = [fold(title(row), stub), *(text(table, row, place, between).split("\n") for place in block)]
            room = [stub, *(widths[place] - GAP for place in block)]
            for parts in zip_longest(*cells, fillvalue=""):
                lines.append((" " * GAP).join(part.ljust(space) for part, space in zip(parts, room, strict=True)))
        lines.append("")
    for note in (table.caption, *table.notes):
        lines += textwrap.wrap(note, width, subsequent_indent="  ", break_on_hyphens=False)
    return "\n".join(line.rstrip() for line in (*lines, table.signature)) + "\n"


def title(row: Row) -> str:
    """What a row is called, marked when its training has looked at more than the subset."""
    return f"{row.head.title} {BEYOND}" if row.head.beyond else row.head.title


def text(table: Table, row: Row, place: int, between: str = " ") -> str:
    """What one cell says."""
    signed = bool(row.head.minus or table.columns[place].minus)
    return figures(row.cells[place], between, table.spread, signed=signed)


def fold(name: str, width: int) -> list[str]:
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
    return [table.columns[place].title, *(text(table, row, place, between) for row in table.rows)]


def _deal(widths: Sequence[int], room: int) -> Iterator[range]:
    """Columns in runs that fit into `room`, at least one in each."""
    start = 0
    for stop in range(1, len(widths) + 1):
        if stop == len(widths) or sum(widths[start : stop + 1]) > room:
            yield range(start, stop)
            start = stop
