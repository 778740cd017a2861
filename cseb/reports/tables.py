"""From records to a table that no format is needed for: what rows and columns stand for, and the statistics between."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from cseb.analysis.query import Best, StudyQuery
from cseb.analysis.significance import MOST
from cseb.analysis.stats import Cell, Spread, cell, difference
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import Select
from cseb.records.record_file import Problem
from cseb.reports.captions import caption, footnotes, left_out, not_shown, short_caption, signature
from cseb.reports.document import DETAIL, MARKED
from cseb.statistics.paired import FEWEST_JUDGED
from cseb.text import plain, size_title

DATA_SEEN = "† uses data beyond the subset."


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What the cells of a row or of a column have in common; what it leaves open, the other one says.

    method: as typed, or the encoder in a table of encoders. tasks: one, or those each seed is averaged over. minus: the
    method that is subtracted. data_seen: what training looked at; more than the subset is marked.
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
        """Whether training looked at anything but the subset."""
        return bool(set(self.data_seen) - {"subset"})

    def __add__(self, other: Heading) -> Heading:
        """Where a row and a column meet."""
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
        """The method of the row, "" where the columns are methods."""
        return self.head.method


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """What `report` prints, in whatever format.

    stub: what rows are. caption: what a cell is; notes: sentences; signature: one line. rest: what all cells share.
    short: caption, how to read the table, and what is left out, in place of these three unless details are asked for.
    label: the kind of table and the benchmark, for cross-references.
    encoder, corpus: what was trained on what, "" where rows are encoders or nothing was trained. study: what the
    numbers are read from.
    """

    name: str
    title: str
    stub: str
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    caption: str
    notes: tuple[str, ...]
    signature: str
    study: Study = field(repr=False, compare=False)
    short: tuple[str, str, str] = ("", "", "")
    label: str = ""
    spread: Spread = "std"
    rest: Heading = field(default_factory=lambda: Heading(title=""))
    encoder: str = ""
    corpus: str = ""

    @property
    def spreads(self) -> bool:
        """Whether any cell has several seeds, and so a spread."""
        return any(cell.n > 1 for row in self.rows for cell in row.cells)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Those that any cell is about, once each."""
        places = (self.place(row, column) for row in self.rows for column in self.columns)
        return tuple(dict.fromkeys(task for place in places for task in place.tasks))

    def place(self, row: Row, column: Heading) -> Heading:
        """All that a cell is about."""
        return row.head + column + self.rest

    def noted(self, *notes: str) -> Table:
        """Return the table with further notes at the end."""
        caption, reading, rest = self.short
        return replace(self, notes=(*self.notes, *notes), short=(caption, " ".join((reading, *notes)).strip(), rest))

    def in_short(self) -> Table:
        """Return the table with a footer of three lines."""
        caption, *notes = self.short
        return replace(self, caption=caption, notes=tuple(filter(None, notes)), signature="")


def tabulate(
    name: str,
    title: str,
    study: Study,
    ask: StudyQuery,
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    *,
    problems: Sequence[Problem],
    rest: Heading,
    stub: str = "",
    extra: Sequence[str] = (),
    details: Sequence[str] = (),
) -> Table:
    """Return the table with the cell of every row and column.

    Args:
        name: of the kind of table, for programs.
        title: above the table.
        study: the records.
        ask: what the user wants to see.
        rows: their headings.
        columns: their headings.
        problems: files that cannot be read.
        rest: what all cells share.
        stub: what rows are; by default what they are made of.
        extra: notes of this kind of table.
        details: notes that the short footer leaves out.

    Raises:
        BadResults: if the best checkpoint is shown and no dev set has chosen one.
    """
    places = [[row + column + rest for column in columns] for row in rows]
    every = [place for line in places for place in line]
    selects = sorted({place.select for place in every if place.select})
    if "best" in selects and not any(one.protocol.dev for one in study.records):
        raise BadResults("no dev set has chosen a best checkpoint in these records; show the last one instead")
    found = [[_cell(study, place) for place in line] for line in places]
    marked = _marked(study, ask.best, places) if ask.best else set()
    if ask.best:
        found = [
            [one if place.minus else replace(one, best=place in marked) for one, place in zip(*pair, strict=True)]
            for pair in zip(found, places, strict=True)
        ]
    # What is said below holds for what is shown: sizes and tasks that have a cell, once each.
    sizes = {size: study.sizes[size] for size in dict.fromkeys(place.size for place in every) if size is not None}
    tasks = tuple(dict.fromkeys(task for place in every for task in place.tasks))
    named = [(place, one) for line, cells in zip(places, found, strict=True) for place, one in zip(line, cells)]  # noqa: B905
    notes = footnotes(
        study,
        problems,
        sizes=sizes,
        tasks=tasks,
        cells=[(place.title.strip(), one) for place, one in named if not place.minus],
        beyond={head.title: head.data_seen for head in (*rows, *columns) if head.beyond},
    )
    legend = _legend(study, ask, marked)
    beyond = [DATA_SEEN] if any(head.beyond for head in (*rows, *columns)) else []
    benchmarks = {record.benchmark for record in study.records}
    return Table(
        name=name,
        label="-".join((name, *(benchmarks if len(benchmarks) == 1 else ()))),
        short=(
            short_caption(study, tasks, selects, ask.spread),
            " ".join((legend, *extra, *beyond)).strip(),
            " ".join((*left_out(study, problems), *_unnamed(study, ask, tasks), DETAIL)),
        ),
        title=title,
        stub=stub or ("encoder" if ask.by == "encoder" else "method" if rows[0].method else ask.by),
        columns=tuple(columns),
        rows=tuple(Row(head=row, cells=tuple(cells)) for row, cells in zip(rows, found, strict=True)),
        caption=caption(study, tasks, selects, ask.spread, marked=legend),
        notes=(*extra, *details, *notes, *(() if ask.tasks else not_shown(study, tasks))),
        signature=signature(study, sizes, tasks, selects),
        study=study,
        spread=ask.spread,
        rest=rest,
        encoder=study.encoder,
        corpus=study.corpus,
    )


def method_headings(study: Study, methods: Sequence[str], titles: Mapping[str, str] | None = None) -> list[Heading]:
    """Headings of these methods, under their names or under titles."""
    return [
        Heading(
            title=(titles or {}).get(method, plain(method)),
            method=method,
            data_seen=tuple(
                sorted(
                    {
                        seen
                        for size in study.sizes
                        for one in study.runs.get((method, size), {}).values()
                        for seen in one.data_seen
                    }
                )
            ),
        )
        for method in methods
    ]


def size_headings(study: Study, ask: StudyQuery) -> list[Heading]:
    """Headings of the fractions of the corpus, for one checkpoint or for both."""
    return each_select(
        [
            Heading(title=size_title(size, fraction) if size else "untrained", size=size, fraction=fraction)
            for size, fraction in study.sizes.items()
        ],
        ask,
    )


def task_headings(study: Study, ask: StudyQuery) -> list[Heading]:
    """Headings of single tasks, and an average behind those of one protocol."""
    wanted = study.named(ask.tasks) or tuple(study.tasks)
    measures = dict.fromkeys(study.tasks[task] for task in wanted)
    headings = []
    for measure in measures:
        tasks = tuple(task for task in wanted if study.tasks[task] == measure)
        headings += [Heading(title=bare(task), tasks=(task,)) for task in tasks]
        if len(tasks) > 1:
            title = f"average {plain(measure)}" if len(measures) > 1 else "average"
            headings.append(Heading(title=title, tasks=tasks))
    return headings


def each_select(headings: Sequence[Heading], ask: StudyQuery) -> list[Heading]:
    """The headings for one checkpoint, or each twice, for both."""
    both = ask.select == "both"
    return [
        replace(head, select=select, title=f"{head.title} {select}" if both else head.title)
        for head in headings
        for select in ask.selects
    ]


def averaged(tasks: Sequence[str]) -> str:
    """What stands in a title for the tasks."""
    return f"average of {len(tasks)} tasks" if len(tasks) > 1 else bare(tasks[0])


def bare(task: str) -> str:
    """`sts12@1` as a heading: the version stands in the signature."""
    return plain(task).rpartition("@")[0] or plain(task)


def _unnamed(study: Study, ask: StudyQuery, tasks: Sequence[str]) -> list[str]:
    """Return a short sentence on tasks of other protocols, if the user has named no tasks."""
    others = [bare(task) for task in study.tasks if task not in tasks]
    return [f"Not shown: {', '.join(others)} (--tasks)."] if others and not ask.tasks else []


def _legend(study: Study, ask: StudyQuery, marked: Collection[Heading]) -> str:
    if ask.best is None or len(study.methods) < 2:
        return ""
    if len(study.methods) > MOST:
        return (
            f"Significance: not tested; over {MOST} methods make too many pairs to correct for; choose with --methods."
        )
    few = [len(seeds) < FEWEST_JUDGED for seeds in study.runs.values()]
    if not marked and all(few):
        return f"Significance: not tested; a test takes {FEWEST_JUDGED} seeds of each method or more."
    if not marked:
        tested = f"method with {FEWEST_JUDGED} seeds or more" if any(few) else "method"
        return f"Significance: no {tested} differs significantly from the best of its column ({ask.claim})."
    return (
        f"{MARKED}: the best mean and all means not significantly different from it ({ask.claim}); no marks where that "
        "is every method."
    )


def _cell(study: Study, place: Heading) -> Cell:
    def of(method: str) -> Cell:
        runs = study.runs.get((method, place.size or 0), {})
        return cell(runs, study.seeds, place.tasks, place.select or "last")

    if place.minus == place.method:
        return Cell(mean=None, sd=None, values={}, absent={})
    return difference(of(place.method), of(place.minus)) if place.minus else of(place.method)


def _marked(study: Study, best: Best, places: Sequence[Sequence[Heading]]) -> set[Heading]:
    """Cells of the best method at the same size, tasks and checkpoint, and of all not significantly different from it.

    Where all of them are, none is marked: a mark would say nothing.
    """
    rivals: dict[tuple[int | None, tuple[str, ...], Select | None], list[Heading]] = {}
    for place in (place for line in places for place in line if not place.minus):
        rivals.setdefault((place.size, place.tasks, place.select), []).append(place)
    marked: set[Heading] = set()
    for (size, tasks, select), held in rivals.items():
        names = set(best(study, size or 0, tasks, select or "last")) if len(held) > 1 else set()
        if not {place.method for place in held} <= names:
            marked |= {place for place in held if place.method in names}
    return marked
