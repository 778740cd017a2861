"""What a report says, whatever it is written in: headings, curves and tables with their notes, as data.

Reports are built from results in terms of these classes, and every format is written from them: see `formats`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from cseb.analysis.stats import Cell
from cseb.records.record import Record

Value = float | int | str | bool | None
NOTE = "†"  # behind a name that a note below the table explains
BEST = "*"  # behind a number, where a format has no bold letters
DETAIL = "More: --detail."  # ends the short footer
MARKED = "Bold or *"  # in notes; each format has one of the two


def marked(note: str, sign: str) -> str:
    """Return the note with the sign that a format marks the best methods with."""
    return note.replace(MARKED, sign)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One cell of a table.

    text: a number or words; spread: what stands behind the number in small print, such as "± 0.40". remarks: how many
    seeds it rests on and so forth; incomplete: whether they say more than the caption does, so that a format with
    footnotes must print them. code: a name as one types it. noted: why `NOTE` stands behind it, or "".
    value: the number in full precision. seeds: seed to its points or to why it has none; keys: seed to its record.
    """

    text: str
    spread: str = ""
    remarks: tuple[str, ...] = ()
    incomplete: bool = False
    bold: bool = False
    code: bool = False
    noted: str = ""
    value: float | None = None
    seeds: Mapping[int, str] = field(default_factory=dict)
    keys: Mapping[int, str] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """The text with its mark, for names."""
        return f"{self.text} {NOTE}" if self.noted else self.text

    def whole(self, between: str = " ") -> str:
        """`72.31 ± 0.40* (n=4, 1 failed)`, with `between` before each bracket."""
        number = f"{self.text} {self.spread}" if self.spread else self.title
        return between.join([number + (BEST if self.bold else ""), *(f"({said})" for said in self.remarks)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """The head of a column. numeric: whether numbers stand below it, to be flush right where a format does that."""

    title: str
    code: bool = False
    noted: str = ""
    numeric: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table and all that stands around it. The first column names the row.

    name: what programs call it. caption: what a cell is; notes: sentences; signature: one line, what it was made of.
    label: for cross-references, the name unless it is given.
    fields, flat: columns and rows of a CSV file; nested: of a JSON file. Both are made when a format asks for them.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Entry, ...], ...]
    notes: tuple[str, ...]
    fields: tuple[str, ...]
    flat: Callable[[], Iterable[Mapping[str, object]]]
    nested: Callable[[], Mapping[str, object]]
    caption: str = ""
    signature: str = ""
    label: str = ""

    @property
    def numeric(self) -> bool:
        """Whether all but the first column hold numbers."""
        return all(column.numeric for column in self.columns[1:])


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What the blocks up to the next heading are about."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """Scores against the number of sentences: title of each curve to its (size, cell), sizes rising."""

    title: str
    spread: bool
    series: Mapping[str, tuple[tuple[int, Cell], ...]]


Block = Heading | Curves | Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """A report. records: those behind its numbers, for formats that show them.

    Headings and curves are for pages; formats that print tables alone leave them out, as notes name what a table is of.
    """

    blocks: tuple[Block, ...]
    title: str = ""
    records: tuple[Record, ...] = ()

    @property
    def grids(self) -> Iterator[Grid]:
        """The tables alone."""
        return (block for block in self.blocks if isinstance(block, Grid))
