"""Tables of words and numbers, such as comparisons: rows that people read, and the values behind each by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from cseb.reports.document import Column, Entry, Grid, Value


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

    def grid(self) -> Grid:
        """As a block of a document."""
        names = dict.fromkeys(name for line in self.lines for name in line.values)
        return Grid(
            name=self.name,
            title=self.title,
            columns=tuple(Column(title=head) for head in self.heads),
            rows=tuple(
                (Entry(text=line.cells[0], code=True), *(Entry(text=cell) for cell in line.cells[1:]))
                for line in self.lines
            ),
            notes=self.notes,
            fields=("sheet", *names),
            flat=self._flat,
            nested=self._nested,
        )

    def _flat(self) -> Iterator[dict[str, Value]]:
        return ({"sheet": self.name, **line.values} for line in self.lines)

    def _nested(self) -> dict[str, object]:
        return {
            "name": self.name,
            "title": self.title,
            "rows": [dict(line.values) for line in self.lines],
            "notes": self.notes,
        }
