"""Tables as lines of text: the same on every machine, on a screen and in a pipe."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest

GAP = 2  # spaces between columns
RULE = "─"  # below the titles


def aligned(rows: Iterable[Sequence[str]], head: Sequence[str] = (), width: int = 0) -> list[str]:
    """Return rows of cells, all of one length, as lines without trailing spaces.

    rows: cells, which may have several lines. head: titles of the columns, underlined. width: characters of a line,
    into which the last column is wrapped; 0 to wrap nothing.
    """
    from rich.cells import cell_len

    lines = [[cell.split("\n") for cell in row] for row in ([head] if head else []) + list(rows)]
    if not lines:
        return []
    widths = [max(cell_len(line) for cell in column for line in cell) for column in zip(*lines, strict=True)]
    if width:
        widths[-1] = min(widths[-1], max(1, width - sum(widths[:-1]) - GAP * (len(widths) - 1)))
        for row in lines:
            row[-1] = [piece for line in row[-1] for piece in textwrap.wrap(line, widths[-1]) or [""]]
    drawn = []
    for row in lines:
        for pieces in zip_longest(*row, fillvalue=""):
            filled = (piece + " " * (size - cell_len(piece)) for piece, size in zip(pieces, widths, strict=True))
            drawn.append((" " * GAP).join(filled).rstrip())
    rule = [RULE * (sum(widths) + GAP * (len(widths) - 1))]
    height = max(map(len, lines[0]))
    return [*drawn[:height], *rule, *drawn[height:]] if head else drawn
