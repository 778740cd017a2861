"""Files with several columns: every format of `cseb.data.readers` but plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from cseb.data.readers import READERS, read_rows
from cseb.errors import BadData
from cseb.text import HALVES

ENDINGS = tuple(READERS)[1:]
HINT = f"a task file ends in {', '.join(ENDINGS)}, with or without .gz"

LARGEST = 1e6  # rating or judgement; sums of squares of larger ones may overflow
DECIMAL_COMMA = re.compile(r"\s*[+-]?[0-9]+,[0-9]+\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns, rows without the blank ones, and the line (or the place, from 1) of each row.

    The first row of .csv and .tsv names the columns; `headless` undoes that.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    lines: tuple[int, ...]
    blank: int = 0  # number of rows left out

    def headless(self) -> Table:
        """Return the same with the first row as a row, and columns called 1, 2, ..."""
        columns = tuple(str(number) for number in range(1, len(self.columns) + 1))
        return Table(self.path, columns, (self.columns, *self.rows), (1, *self.lines), self.blank)

    def column(self, name: str) -> list[object]:
        """Return the cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def read_table(path: Path) -> Table:
    """Return all columns of a file. In JSON the first object says which there are. Raises: BadData."""
    columns: list[str] = []

    def every(header: list[str]) -> list[str]:
        columns.extend(header)
        return header

    rows, lines, blank = [], [], 0
    for line, row in read_rows(path, every, ENDINGS, HINT):
        if any(isinstance(text, str) and HALVES.search(text) for text in (*columns, *row)):
            raise BadData(f"{path}, line {line} holds an unpaired surrogate, which is not valid Unicode text")
        if any(not isinstance(cell, str) or cell.strip() for cell in row):
            rows.append(tuple(row))
            lines.append(line)
        else:
            blank += 1
    return Table(path, tuple(columns), tuple(rows), tuple(lines), blank)


def number(cell: object) -> float | None:
    """Return a number of at most a million, None for anything else; True is 1, False 0, and the text 3,5 is 3.5."""
    if isinstance(cell, str) and DECIMAL_COMMA.fullmatch(cell):
        cell = cell.replace(",", ".")
    try:
        value = float(cell) if isinstance(cell, str | int | float | Decimal) else float("nan")
    except (ValueError, OverflowError):  # no number, or one with hundreds of digits
        return None
    return value if abs(value) <= LARGEST else None
