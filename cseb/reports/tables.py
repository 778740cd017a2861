"""Tables of scores, independent of the output format: rows, columns, cells and the text below them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from cseb.analysis.paired import MOST, best_methods, samples
from cseb.analysis.stats import Cell, cell, difference
from cseb.analysis.study import Study, StudyQuery
from cseb.errors import BadResults
from cseb.records.record import Select
from cseb.records.store import Problem
from cseb.reports.captions import bare, caption, details, excluded, not_shown, signature
from cseb.reports.document import DETAIL, MARKED
from cseb.statistics.paired import FEWEST_JUDGED

TEST = "paired by seed, Holm over the column, 5 %; new seeds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """The properties that all cells of a row or of a column share; the other one states the rest.

    method: as typed, or the encoder in a table of encoders. tasks: one, or those each seed is averaged over. minus: the
    method that is subtracted. data_seen: the data that training used; more than the subset is marked.
    """

    title: str
    method: str = ""
    size: int | None = None
    fraction: float | None = None
    select: Select | None = None
    tasks: tuple[str, ...] = ()
    minus: str = ""
    data_seen: tuple[str, ...] = ()

    @property
    def beyond(self) -> bool:
        """Return whether training used data beyond the subset."""
        return bool(set(self.data_seen) - {"subset"})

    def __add__(self, other: Heading) -> Heading:
        """Return the properties of the cell where a row and a column meet."""
        return Heading(
            title=f"{self.title} {other.title}",
            method=self.method or other.method,
            size=self.size if self.size is not None else other.size,
            fraction=self.fraction if self.fraction is not None else other.fraction,
            select=self.select or other.select,
            tasks=self.tasks or other.tasks,
            minus=self.minus or other.minus,
            data_seen=self.data_seen or other.data_seen,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A heading and its cells, one for each column."""

    head: Heading
    cells: tuple[Cell, ...]

    @property
    def method(self) -> str:
        """Return the method of the row."""
        return self.head.method


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of scores.

    stub: title of the first column. caption: what a cell is. reading: how to read the table, one line. excluded: what
    it leaves out, one line. details: further notes. signature: one line on how the numbers were made. rest: the
    properties that all cells share. label: the kind of table and the benchmark, for cross-references. encoder, corpus:
    "" where rows are encoders or nothing was trained. study: the records. short: whether only three lines are shown
    below the table.
    """

    name: str
    title: str
    stub: str
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    caption: str
    reading: tuple[str, ...]
    excluded: str
    details: tuple[str, ...]
    full_signature: str
    study: Study = field(repr=False, compare=False)
    label: str = ""
    rest: Heading = field(default_factory=lambda: Heading(title=""))
    encoder: str = ""
    corpus: str = ""
    short: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the sentences below the table; at most two lines in the short form."""
        if self.short:
            return tuple(filter(None, (" ".join(self.reading), f"{self.excluded} {DETAIL}".strip())))
        return (*self.reading, *self.details)

    @property
    def signature(self) -> str:
        """Return the line on how the numbers were made; "" in the short form."""
        return "" if self.short else self.full_signature

    @property
    def spreads(self) -> bool:
        """Return whether any cell has several seeds, and so a spread."""
        return any(cell.n > 1 for row in self.rows for cell in row.cells)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Return the tasks of all cells, once each."""
        places = (self.place(row, column) for row in self.rows for column in self.columns)
        return tuple(dict.fromkeys(task for place in places for task in place.tasks))

    def place(self, row: Row, column: Heading) -> Heading:
        """Return all properties of a cell."""
        return row.head + column + self.rest

    def noted(self, *notes: str) -> Table:
        """Return the table with further notes."""
        return replace(self, reading=(*self.reading, *notes))

    def in_short(self) -> Table:
        """Return the table with a footer of three lines."""
        return replace(self, short=True)


def tabulate(
    name: str,
    title: str,
    study: Study,
    query: StudyQuery,
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    *,
    problems: Sequence[Problem],
    rest: Heading,
    stub: str = "",
    reading: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Table:
    """Return the table with the cell of every row and column. Raises: BadResults.

    name: kind of table, for programs. problems: files that cannot be read. rest: properties that all cells share. stub:
    title of the first column; by default what rows are. reading: notes needed to read this kind of table. notes:
    further ones, which the short footer leaves out.
    """
    places = [[row + column + rest for column in columns] for row in rows]
    every = [place for line in places for place in line]
    selects = sorted({place.select for place in every if place.select})
    if "best" in selects and not any(record.protocol.dev for record in study.records):
        raise BadResults("no dev set has chosen a best checkpoint in these records; show the last one instead")
    marks = _marks(study, query, every)

    def shown(place: Heading) -> Cell:
        cell = _cell(study, place)
        return cell if not query.mark or place.minus else replace(cell, best=marks.get(place))

    cells = [[shown(place) for place in line] for line in places]
    # Notes are about the sizes and tasks that have a cell.
    sizes = {size: study.sizes[size] for size in dict.fromkeys(place.size for place in every) if size is not None}
    tasks = tuple(dict.fromkeys(task for place in every for task in place.tasks))
    named = zip(every, (value for line in cells for value in line), strict=True)
    beyond = {head.title: head.data_seen for head in rows if head.beyond}
    footnotes = details(
        study,
        problems,
        sizes=sizes,
        tasks=tasks,
        selects=selects,
        cells=[(place.title.strip(), value) for place, value in named if not place.minus],
        beyond=beyond,
    )
    others = [bare(task) for task in study.tasks if task not in tasks and not query.tasks]
    legend = (_legend(study, query, marks), "† uses data beyond the subset." if beyond else "")
    benchmarks = {record.benchmark for record in study.records}
    return Table(
        name=name,
        label="-".join((name, *(benchmarks if len(benchmarks) == 1 else ()))),
        title=title,
        stub=stub or ("encoder" if query.encoders else "method"),
        columns=tuple(columns),
        rows=tuple(Row(head=row, cells=tuple(line)) for row, line in zip(rows, cells, strict=True)),
        caption=caption(study, tasks, selects),
        reading=tuple(filter(None, (*legend, *reading))),
        excluded=" ".join(
            (*excluded(study, problems), *([f"Not shown: {', '.join(others)} (--tasks)."] if others else ()))
        ),
        details=(*notes, *footnotes, *(() if query.tasks else not_shown(study, tasks))),
        full_signature=signature(study, sizes, tasks, selects),
        study=study,
        rest=rest,
        encoder=study.encoder,
        corpus=study.corpus,
    )


def _legend(study: Study, query: StudyQuery, marks: Mapping[Heading, bool]) -> str:
    if not query.mark or len(study.methods) < 2:
        return ""
    if len(study.methods) > MOST:
        return f"Significance: not tested, {MOST} methods are the most; choose with --methods."
    if not any(marks.values()) and all(len(seeds) < FEWEST_JUDGED for seeds in study.runs.values()):
        return f"Significance: not tested; a test takes {FEWEST_JUDGED} seeds of each method or more."
    if not marks:
        return (
            f"Significance: not tested; a test takes {FEWEST_JUDGED} seeds that a method and the best of its column "
            "share, and scores that vary."
        )
    if not any(marks.values()):
        return f"Significance: no tested method differs significantly from the best of its column ({TEST})."
    return f"{MARKED}: not significantly different from the best mean ({TEST})."


def _cell(study: Study, place: Heading) -> Cell:
    def of(method: str) -> Cell:
        runs = study.runs.get((method, place.size or 0), {})
        return cell(runs, study.seeds, place.tasks, place.select or "last")

    if place.minus and place.minus == place.method:
        return Cell(mean=None, sd=None, values={}, absent={})
    return difference(of(place.method), of(place.minus)) if place.minus else of(place.method)


def _marks(study: Study, query: StudyQuery, places: Sequence[Heading]) -> dict[Heading, bool]:
    """Return the cells that were tested, and whether each is one of the best methods of its column.

    The best methods are the best one and all not significantly different from it. Nothing is marked where that is every
    method that has scores, or if there are too many methods to compare all pairs.
    """
    if not query.mark or len(study.methods) > MOST:
        return {}
    columns: dict[tuple[int | None, tuple[str, ...], Select | None], list[Heading]] = {}
    for place in places:
        if not place.minus:
            columns.setdefault((place.size, place.tasks, place.select), []).append(place)
    marks: dict[Heading, bool] = {}
    for (size, tasks, select), column in columns.items():
        if len(column) < 2:
            continue
        compared = samples(study, size or 0, tasks, select or "last")
        best = best_methods(compared)
        scored = {place.method for place in column} & {sample.method for sample in compared}
        some = not all(best.get(method) for method in scored)
        marks |= {place: some and best[place.method] for place in column if place.method in best}
    return marks
