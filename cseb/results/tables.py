"""From records to a table that no format is needed for: what rows and columns stand for, and the statistics between."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from cseb.errors import BadResults
from cseb.results.notes import caption, footnotes, signature
from cseb.results.record import Record, Select
from cseb.results.stats import Cell, Spread, cell, difference
from cseb.results.store import Problem, plain
from cseb.results.study import Study, choose, gather, percent

Selection = Literal["best", "last", "both"]
By = Literal["method", "encoder", "fraction", "task"]

# Methods of a study that are the best, or cannot be told from it, on the average over these tasks at this size and
# checkpoint. A largest mean alone says nothing.
Best = Callable[[Study, int, tuple[str, ...], Select], Collection[str]]


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
    encoder, corpus: what was trained on what, "" where rows are encoders or nothing was trained.
    """

    name: str
    title: str
    stub: str
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    caption: str
    notes: tuple[str, ...]
    signature: str
    spread: Spread = "std"
    rest: Heading = field(default_factory=lambda: Heading(title=""))
    encoder: str = ""
    corpus: str = ""

    def place(self, row: Row, column: Heading) -> Heading:
        """All that a cell is about."""
        return row.head + column + self.rest


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What a user wants to see of a folder of records. Empty means all there is, in its natural order.

    order and seeds: those planned (a planned method without a record is shown as missing). methods, fractions, sizes
    and tasks: those to show, in this order; tasks of one protocol are averaged. best: what marks cells, see `Best`;
    claim: what a mark says.
    """

    select: Selection = "best"
    spread: Spread = "std"
    by: By = "method"
    methods: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    mixed: bool = False
    best: Best | None = None
    claim: str = ""

    def study(self, records: Iterable[Record]) -> Study:
        """The records asked for, sorted into cells. Raises: BadResults."""
        chosen = choose(records, self.methods, self.fractions, self.sizes)
        study = gather(chosen, self.methods or self.order, self.seeds, encoders=self.by == "encoder", mixed=self.mixed)
        if not (self.fractions or self.sizes):
            return study
        typed = {size: place for place, size in enumerate(self.sizes)} | {
            size: place
            for place, wanted in enumerate(self.fractions)
            for size, share in study.sizes.items()
            if abs(share - wanted) <= 1e-3 * wanted
        }
        return replace(study, sizes=dict(sorted(study.sizes.items(), key=lambda one: typed.get(one[0], 0))))

    @property
    def selects(self) -> tuple[Select, ...]:
        """The checkpoints to show."""
        return ("best", "last") if self.select == "both" else (self.select,)


def tabulate(
    name: str,
    title: str,
    study: Study,
    ask: Ask,
    rows: Sequence[Heading],
    columns: Sequence[Heading],
    *,
    problems: Sequence[Problem],
    rest: Heading,
    stub: str = "",
    extra: Sequence[str] = (),
) -> Table:
    """The cell of every row and column. extra: notes of this kind of table. Raises: BadResults."""
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
    return Table(
        name=name,
        title=title,
        stub=stub or ("encoder" if ask.by == "encoder" else "method" if rows[0].method else ask.by),
        columns=tuple(columns),
        rows=tuple(Row(head=row, cells=tuple(cells)) for row, cells in zip(rows, found, strict=True)),
        caption=caption(study, tasks, selects, ask.spread, marked=_legend(ask, marked)),
        notes=(*extra, *notes),
        signature=signature(study, sizes, tasks, selects),
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


def share_headings(study: Study, ask: Ask) -> list[Heading]:
    """Headings of the shares of the corpus, for one checkpoint or for both."""
    return each_select(
        [
            Heading(title=f"{percent(fraction)} ({size:,})" if size else "untrained", size=size, fraction=fraction)
            for size, fraction in study.sizes.items()
        ],
        ask,
    )


def task_headings(study: Study, ask: Ask) -> list[Heading]:
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


def each_select(headings: Sequence[Heading], ask: Ask) -> list[Heading]:
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


def _legend(ask: Ask, marked: Collection[Heading]) -> str:
    if ask.best is None:
        return ""
    if not marked:
        return f"No method can be told from the best of its column ({ask.claim})."
    return f"Bold, or *: the best and all that cannot be told from it ({ask.claim}); nothing where that is all."


def _cell(study: Study, place: Heading) -> Cell:
    def of(method: str) -> Cell:
        runs = study.runs.get((method, place.size or 0), {})
        return cell(runs, study.seeds, place.tasks, place.select or "last")

    if place.minus == place.method:
        return Cell(mean=None, sd=None, values={}, absent={})
    return difference(of(place.method), of(place.minus)) if place.minus else of(place.method)


def _marked(study: Study, best: Best, places: Sequence[Sequence[Heading]]) -> set[Heading]:
    """Cells that are best among the methods at the same size, tasks and checkpoint, or cannot be told from it.

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
