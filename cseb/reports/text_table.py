"""Tables as lines of text, drawn by rich: the same on every machine, on a screen and in a pipe."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from itertools import zip_longest

GAP = 2  # spaces between columns
UNLIMITED = 10_000  # characters of a line that nobody folds
RULE = "─"  # below the titles


def aligned(rows: Iterable[Sequence[str]], head: Sequence[str] = (), width: int = 0) -> list[str]:
    """Rows of cells, all of one length, as lines without trailing spaces.

    head: titles of the columns, underlined. width: characters of a line, into which the last column is wrapped; 0 where
    nothing is. A cell may have several lines of its own. No colours or other codes, whatever the terminal.
    """
    held = [tuple(row) for row in rows]
    columns = len(head or (held[0] if held else ()))
    if not columns:
        return []
    if not width and not any("\n" in title for title in head) and not any("\t" in cell for row in held for cell in row):
        return _simple(held, tuple(head))
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    # A box has a column of its own between two others, so padding is one less than the gap.
    table = Table(
        box=box.SIMPLE_HEAD if head else None,
        show_header=bool(head),
        show_edge=False,
        pad_edge=False,
        padding=(0, GAP - bool(head), 0, 0),
    )
    for place in range(columns):
        wrapped = bool(width) and place == columns - 1
        title = Text(head[place]) if head else ""
        table.add_column(title, no_wrap=not wrapped, overflow="fold" if wrapped else "ignore")
    for row in held:
        table.add_row(*map(Text, row))
    file = io.StringIO()
    Console(file=file, width=width or UNLIMITED, color_system=None, legacy_windows=False, force_jupyter=False).print(
        table, crop=False, no_wrap=not width, soft_wrap=False
    )
    return [line.rstrip() for line in file.getvalue().splitlines()]


def _simple(rows: Sequence[tuple[str, ...]], head: tuple[str, ...]) -> list[str]:
    """What rich draws where nothing is wrapped, in a tenth of the time: some tables have thousands of rows."""
    from rich.cells import cell_len

    lines = [[cell.split("\n") for cell in row] for row in ([head] if head else []) + list(rows)]
    widths = [max(cell_len(line) for cell in column for line in cell) for column in zip(*lines, strict=True)]
    drawn = []
    for row in lines:
        for pieces in zip_longest(*row, fillvalue=""):
            filled = (piece + " " * (wide - cell_len(piece)) for piece, wide in zip(pieces, widths, strict=True))
            drawn.append((" " * GAP).join(filled).rstrip())
    rule = [RULE * (sum(widths) + GAP * (len(widths) - 1))] if head else []
    return [*drawn[:1], *rule, *drawn[1:]] if head else drawn
