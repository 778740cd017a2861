"""Files with several columns, by the ending of their name: .csv, .tsv, .jsonl or .json, each also .gz."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from io import BufferedIOBase
from pathlib import Path

from cseb.data.readers import cells, ending, listed_objects, objects, opened
from cseb.errors import BadData
from cseb.text import HALVES

ENDINGS = (".csv", ".tsv", ".jsonl", ".json")
HINT = f"a task file ends in {', '.join(ENDINGS)}, with or without .gz"

Row = tuple[object, ...]  # text, or what JSON has: numbers, lists, None


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns, rows without the blank ones, and the line (in .json the place, from 1) on which each row ends.

    The first row of .csv and .tsv names the columns; `headless` undoes that.
    """

    path: Path
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    lines: tuple[int, ...]

    def headless(self) -> Table:
        """Return the same with the first row as a row, and columns called 1, 2, ..."""
        columns = tuple(str(number) for number in range(1, len(self.columns) + 1))
        return Table(self.path, columns, (self.columns, *self.rows), (1, *self.lines))

    def column(self, name: str) -> list[object]:
        """Return the cells of one column."""
        place = self.columns.index(name)
        return [row[place] for row in self.rows]


def read_table(path: Path) -> Table:
    """Return all columns of a file. In JSON the first row says which there are, and others may leave some out.

    Raises: BadData.
    """
    if ending(path) not in ENDINGS and not path.is_dir():
        raise BadData(f"{path} is not a readable task file: {HINT}")
    with opened(path, HINT) as file:
        if ending(path) in (".csv", ".tsv"):
            return _delimited(file, path)
        return _named(path, (listed_objects if ending(path) == ".json" else objects)(file, str(path)))


def _delimited(file: BufferedIOBase, path: Path) -> Table:
    if ending(path) == ".tsv":
        rows = cells(file, str(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    else:
        rows = cells(file, str(path), delimiter=",", quoting=csv.QUOTE_MINIMAL)
    header = tuple(cell.strip() for cell in next(rows, (0, []))[1])
    held = [(line, tuple(row)) for line, row in rows if any(cell.strip() for cell in row)]
    return Table(path, header, tuple(row for _, row in held), tuple(line for line, _ in held))


def _named(path: Path, found: Iterable[tuple[int, dict[str, object] | None]]) -> Table:
    held = [(line, row) for line, row in found if row is not None]
    for line, row in held:
        if any(isinstance(text, str) and HALVES.search(text) for text in (*row, *row.values())):
            raise BadData(f"{path}, line {line} holds an unpaired surrogate, which is not valid Unicode text")
    columns = tuple(held[0][1]) if held else ()
    rows = tuple(tuple(row.get(name) for name in columns) for _, row in held)
    return Table(path, columns, rows, tuple(line for line, _ in held))
