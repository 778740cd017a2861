"""The content of a report as data: tables with their notes. Every output format is written from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Value = float | int | str | bool | None
NOTE = "†"  # after a name that a note below the table explains
BEST = "*"  # after a number, where a format has no bold letters
DETAIL = "More: --detail."  # ends the short footer
MARKED = "Bold or *"  # in notes; each format has one of the two


def marked(note: str, sign: str) -> str:
    """Return the note with the sign that a format marks the best methods with."""
    return note.replace(MARKED, sign)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One cell of a table.

    text: a number or words. spread: text behind the number, such as "± 0.40". remarks: number of seeds and reasons for
    absent ones. code: whether it is a name as one types it. noted: whether `NOTE` follows it.
    """

    text: str
    spread: str = ""
    remarks: tuple[str, ...] = ()
    bold: bool = False
    code: bool = False
    noted: bool = False

    @property
    def title(self) -> str:
        """Return the text with its mark, for names."""
        return f"{self.text} {NOTE}" if self.noted else self.text

    def whole(self, between: str = " ") -> str:
        """Return `72.31 ± 0.40* (n=4, 1 failed)`, with `between` before each bracket."""
        number = f"{self.text} {self.spread}" if self.spread else self.title
        return between.join([number + (BEST if self.bold else ""), *(f"({remark})" for remark in self.remarks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The head of a column. numeric: whether numbers are below it, flush right where a format does that."""

    title: str
    numeric: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table and the text around it. The first column names the row.

    name: for programs. values: rows for CSV and JSON, in full precision. caption: what a cell is. notes: sentences.
    signature: one line on how the numbers were made. label: for cross-references, the name by default.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...]
    values: tuple[Mapping[str, object], ...]
    caption: str = ""
    signature: str = ""
    label: str = ""

    @property
    def numeric(self) -> bool:
        """Return whether all but the first column contain numbers."""
        return all(column.numeric for column in self.columns[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A row of a sheet: its cells as text, and its values by name, in full precision."""

    cells: tuple[str, ...]
    values: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sheet:
    """A table of words and numbers, such as a comparison. name: for programs. The first column names the row."""

    name: str
    title: str
    heads: tuple[str, ...]
    lines: tuple[Line, ...]
    notes: tuple[str, ...]

    def grid(self) -> Grid:
        """Return the sheet as a table of any format."""
        return Grid(
            name=self.name,
            title=self.title,
            columns=tuple(Column(title=head) for head in self.heads),
            rows=tuple(
                (Entry(text=line.cells[0], code=True), *(Entry(text=cell) for cell in line.cells[1:]))
                for line in self.lines
            ),
            notes=self.notes,
            values=tuple({"sheet": self.name, **line.values} for line in self.lines),
        )
