"""Print the tables of a folder of records, in every format."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated, Any, cast

from cseb.commands.arguments import methods_of, names
from cseb.commands.command_line import Call, Out
from cseb.commands.results import Results, results_of
from cseb.commands.screen import write
from cseb.errors import BadResults, one_of
from cseb.parameters import (
    CHECKPOINT_HELP,
    DATA_DIR,
    FORMAT,
    LEARNING_CURVE,
    MIXED,
    SHOW_FRACTIONS,
    SHOW_METHODS,
    SHOW_SIZES,
    SHOW_TASKS,
    SPREAD,
    argument,
    command,
    numbers,
    option,
)
from cseb.progress import tell
from cseb.text import plain

if TYPE_CHECKING:
    from cseb.analysis.planned import Planned
    from cseb.analysis.query import StudyQuery
    from cseb.analysis.study import Study
    from cseb.records.record import Record
    from cseb.records.record_file import Problem
    from cseb.reports.document import Sheet
    from cseb.reports.documents import Group
    from cseb.reports.tables import Table

KINDS = ("few-shot", "tasks", "ablation", "sensitivity")


@command
def report(
    results: Annotated[Results | str | Path, argument("Folder of records.")] = "results",
    format: Annotated[str, FORMAT] = "terminal",
    *,
    benchmark: Annotated[str, option("Benchmark whose records and kind of table are shown.")] = "",
    table: Annotated[
        str,
        option(
            "Methods by training set size (few-shot), methods by tasks (tasks), differences from `baseline` (ablation) "
            "or values of `option` (sensitivity). By default what the benchmark says, or few-shot.",
            choices=KINDS,
        ),
    ] = "",
    by: Annotated[str, option("What a row is.", choices=("method", "encoder", "fraction", "task"))] = "method",
    methods: Annotated[str | Sequence[str], SHOW_METHODS] = (),
    fractions: Annotated[str | float | Sequence[float], SHOW_FRACTIONS] = (),
    sizes: Annotated[str | int | Sequence[int], SHOW_SIZES] = (),
    tasks: Annotated[str | Sequence[str], SHOW_TASKS] = (),
    checkpoint: Annotated[str, option(CHECKPOINT_HELP, choices=("best", "last", "both"))] = "",
    spread: Annotated[str, SPREAD] = "std",
    baseline: Annotated[str, option("For an ablation: the method that the others are parts of.")] = "",
    option: Annotated[str, option("For sensitivity: an option of a part, such as infonce.temperature.")] = "",
    against: Annotated[str, option("Compare each number with those reported in papers.", choices=("published",))] = "",
    learning_curve: Annotated[bool, LEARNING_CURVE] = False,
    detail: Annotated[bool, option("Print all notes below tables: encoder, protocol, gaps, excluded records.")] = False,
    mark: Annotated[
        str,
        option(
            "Print in bold the best method and all not significantly different from it: for new seeds, or for new test "
            "examples too, which needs the test data.",
            choices=("seeds", "examples", "none"),
        ),
    ] = "seeds",
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    mixed: Annotated[bool, MIXED] = False,
) -> str:
    """Print the tables of a folder of records.

    Tables of several encoders or corpora follow each other. csv and json name both for every number.

    Returns:
        The text of the tables.

    Raises:
        BadResults: if there are no such records, or they must not be in one table.

    Examples:
        >>> import cseb
        >>> "| `simcse` |" in cseb.report("results", format="markdown")
        True
    """
    from cseb.analysis.comparable import groups, is_untrained, scored_on
    from cseb.analysis.planned import belonging, planned_as
    from cseb.reports.documents import comparison, score_report
    from cseb.reports.formats import FORMATS
    from cseb.reports.learning_curve import NAME, no_learning_curve

    form = FORMATS[one_of(FORMATS, format, "`format`")]
    ask = query(methods, fractions, sizes, tasks, checkpoint, by=by, spread=spread, mixed=mixed)
    folder = results_of(results)
    records, grid = list(folder.records), planned_as(folder.folder, benchmark) if benchmark else None
    if grid is not None:
        records = belonging(records, grid)
    several = groups(records, encoders=by == "encoder")
    if ask.methods or ask.fractions or ask.sizes:  # untrained encoders have none of these
        several = [group for group in several if not all(map(is_untrained, group))] or several
    several = scored_on(several, ask.tasks)
    baselines = [record for record in records if _counts_words(record)]
    full = (*methods_of(baseline), "")[0]
    typed = {"ablation": {"full": full}, "sensitivity": {"option": option}}.get(table, {})
    layout = _Layout(folder, ask, form.pages, table, typed, mark, str(data_dir), grid, learning_curve)
    tell("laying out tables")
    pages = [layout.group(group, bool(against)) for group in several or [[]]]
    pages = [
        replace(page, tables=[_with_word_baselines(table, baselines) for table in page.tables])
        if group and not all(map(is_untrained, group))
        else page
        for page, group in zip(pages, several or [[]], strict=True)
    ]
    if not (detail or form.data or form.pages):
        pages = [replace(page, tables=[table.in_short() for table in page.tables]) for page in pages]
    sheets = [sheet for page in pages for sheet in page.sheets]
    if learning_curve and not any(sheet.name == NAME for sheet in sheets):
        raise no_learning_curve([page.study for page in pages])
    # Programs read rows of one kind: those of the comparison where there is one.
    document = comparison(sheets) if form.data and sheets else score_report(pages, plain(folder.folder.resolve().name))
    tell("writing tables")
    return form.write(document)


def print_tables(call: Call[str], *, out: Out = None) -> None:
    """Print the tables, or write them into a file."""
    gc.disable()  # a hundred thousand records are no garbage, and this process ends soon
    write(call(), out)


@dataclass(frozen=True, slots=True)
class _Layout:
    """What is asked of every group of records."""

    results: Results
    ask: StudyQuery
    pages: bool  # whether the format shows more of a folder than one table
    table: str
    typed: dict[str, str]
    mark: str
    data_dir: str
    planned: Planned | None
    learning_curve: bool

    def group(self, records: list[Record], published: bool) -> Group:
        """The tables of records of one encoder and corpus, and what papers print beside them."""
        from cseb.analysis.comparable import is_untrained
        from cseb.analysis.planned import as_planned, planned_of, table_of
        from cseb.papers.published_comparison import compared_with_published
        from cseb.reports.documents import Group
        from cseb.reports.layouts import KINDS

        standing = bool(records) and all(map(is_untrained, records))
        ask = replace(self.ask, by="encoder", select="last") if standing and self.ask.by == "method" else self.ask
        claim = "none" if standing and self.mark == "seeds" else self.mark  # they have one seed
        planned = [self.planned] if self.planned else planned_of(self.results.folder, records)
        ask = self._marked(as_planned(ask, records, planned), claim, records)
        kind, special = self.table, self.typed
        if not self.table and not self.pages:
            kind, name = table_of(planned)
            special = {"ablation": {"full": name}, "sensitivity": {"option": name}}.get(kind, {})
        kind = kind or ("tasks" if standing else "few-shot")
        problems = self.results.problems
        tables = [_laid_out(kind, records, problems, ask, special, bool(self.table))]
        if self.pages and not self.table and not standing:
            tables += [KINDS["tasks"](records, problems, one) for one in _each_size(ask, tables[0].study)]
        sheets = [compared_with_published(one) for one in tables] if published else []
        tables = [
            one if sheet is None or sheet.lines else one.noted(*sheet.notes)
            for one, sheet in zip_longest(tables, sheets)
        ]
        sheets = [sheet for sheet in sheets if sheet.lines]
        return Group(
            tables=tables,
            sheets=[*sheets, *(self._curves(tables[0].study, records, ask) if self.learning_curve else ())],
        )

    def _curves(self, study: Study, records: list[Record], ask: StudyQuery) -> Iterator[Sheet]:
        """What more sentences bring to each method, at each checkpoint asked for."""
        from cseb.experiment.load_item_scores import load_item_scores
        from cseb.records.store import Store
        from cseb.reports.learning_curve import learning_curve_alone

        tasks, items = study.chosen(ask.tasks), load_item_scores(Store(self.results.folder), records, self.data_dir)
        for select in ask.selects:
            if (found := learning_curve_alone(study, tasks, select, items)) is not None:
                yield found

    def _marked(self, ask: StudyQuery, mark: str, records: list[Record]) -> StudyQuery:
        """Return the query with the way that cells are marked."""
        from cseb.experiment.load_item_scores import load_item_scores
        from cseb.records.store import Store

        needed = mark == "examples"
        item_scores = load_item_scores(Store(self.results.folder), records, self.data_dir) if needed else None
        return replace(ask, mark=cast(Any, mark), item_scores=item_scores)


def query(
    methods: str | Sequence[str],
    fractions: str | float | Sequence[float],
    sizes: str | int | Sequence[int],
    tasks: str | Sequence[str],
    checkpoint: str,
    **others: Any,
) -> StudyQuery:
    """Return what a user asks of a folder of records. Raises: BadBenchmark, BadSpec, UnknownName."""
    from cseb.analysis.query import StudyQuery
    from cseb.tasks.names import recorded_names

    return StudyQuery(
        methods=methods_of(methods),
        fractions=numbers(fractions, float, "fractions"),
        sizes=numbers(sizes, int, "sizes"),
        tasks=recorded_names(names(tasks)),
        select=cast(Any, checkpoint),
        **others,
    )


def _laid_out(
    kind: str,
    records: list[Record],
    problems: Sequence[Problem],
    ask: StudyQuery,
    special: dict[str, str],
    typed: bool,
) -> Table:
    """The table; where a benchmark asks for a kind that these records cannot fill, few-shot, and why below it.

    typed: whether the user named the kind of table.
    """
    from cseb.reports.layouts import KINDS

    try:
        return KINDS[kind](records, problems, ask, **special)
    except BadResults as error:
        if typed or kind == "few-shot":
            raise
        found = KINDS["few-shot"](records, problems, ask)
        return found.noted(f"Not as the benchmark lays it out ({kind}): {error}.")


def _each_size(ask: StudyQuery, study: Study) -> list[StudyQuery]:
    return [replace(ask, fractions=(), sizes=(size,)) for size in study.sizes]


def _counts_words(record: Record) -> bool:
    """Return whether a record is of a bag-of-words baseline of the installed version."""
    from cseb.records.staleness import stale

    return record.encoder.name.startswith("words:") and not stale(record)


def _with_word_baselines(table: Table, baselines: Sequence[Record]) -> Table:
    """The table with the scores of bag-of-words baselines below it, averaged over the tasks of each protocol."""
    from cseb.reports.captions import averaged

    alike: dict[str, list[str]] = {}
    for task in table.tasks:
        alike.setdefault(table.study.tasks[task], []).append(task)
    notes = []
    for tasks in alike.values():
        over = "average over these tasks" if len(alike) == 1 else averaged(tasks)
        for record in baselines:
            points = record.points("last")
            values = [value for task in tasks if (value := points.get(task)) is not None]
            if len(values) == len(tasks):
                notes.append(f"Baseline {plain(record.encoder.name)}, {over}: {fmean(values):.2f}.")
    return table.noted(*notes)
