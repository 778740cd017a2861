"""Tables of a folder of records, as text in every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from cseb.commands.arguments import methods_of, names
from cseb.commands.results import Results, Summaries, summaries_of
from cseb.errors import BadResults, one_of
from cseb.parameters import numbers
from cseb.progress import tell
from cseb.text import plain

if TYPE_CHECKING:
    from cseb.analysis.query import StudyQuery
    from cseb.analysis.study import Study
    from cseb.experiment.benchmark import Benchmark
    from cseb.records.record import RecordSummary
    from cseb.records.record_file import Problem
    from cseb.reports.documents import Group
    from cseb.reports.sheet import Sheet
    from cseb.reports.tables import Table


def report(
    results: Results | str | Path = "results",
    format: str = "markdown",
    *,
    table: str = "",
    by: str = "method",
    methods: str | Sequence[str] = (),
    fractions: float | Sequence[float] = (),
    sizes: int | Sequence[int] = (),
    tasks: str | Sequence[str] = (),
    checkpoint: str = "",
    spread: str = "std",
    full: str = "",
    option: str = "",
    against: str = "",
    learning_curve: bool = False,
    mark: str = "seeds",
    data_dir: str | Path = "",
    mixed: bool = False,
    benchmark: str = "",
) -> str:
    """The tables of a folder of records, as `cseb report` prints them.

    Args:
        results: a folder of records, or what `cseb.run` or `cseb.load` returned.
        format: ``terminal``, ``markdown``, ``latex``, ``csv``, ``json`` or ``html``.
        table: ``few-shot`` (methods by fractions), ``tasks`` (methods by tasks), ``ablation`` (differences to `full`, a
            method) or ``sensitivity`` (values of `option`); by default what the benchmark says, or few-shot.
        by: what rows are: ``method``, ``encoder``, ``fraction`` or ``task``.
        methods: those to show, in this order.
        fractions: of the corpus, those to show.
        sizes: numbers of sentences to show.
        tasks: tasks or groups to show or average.
        checkpoint: ``best`` on the dev set, ``last`` or ``both``; by default best where there is one.
        spread: behind a mean: ``std``, ``ci95``, ``sem`` or ``range``.
        full: for an ablation, the method that the others are parts of.
        option: for a sensitivity table, such as ``infonce.temperature``.
        against: ``published`` puts each number beside what papers print.
        learning_curve: what more sentences bring, below the tables: each method against itself on fewer.
        mark: which cells are bold: the best and all that are not significantly different from it for new ``seeds``, for
            new ``items`` too, or ``none``.
        data_dir: folder of task files, for intervals over test items.
        mixed: let one table mix devices, versions and task lists, and say so below it.
        benchmark: keep to the records of this benchmark, in its own layout.

    Returns:
        The text of the tables; those of several encoders or corpora follow each other.

    Raises:
        BadResults: if there are no such records, or they must not stand in one table.

    Examples:
        >>> import cseb
        >>> "| `simcse` |" in cseb.report("results", format="markdown")
        True
    """
    from cseb.analysis.comparable import as_it_stands, groups, scored_on
    from cseb.experiment.plan_file import own, plans
    from cseb.reports.documents import comparison, score_report
    from cseb.reports.formats import FORMATS
    from cseb.reports.layouts import KINDS
    from cseb.reports.learning_curve import NAME, no_learning_curve

    form = FORMATS[one_of(FORMATS, format, "--format")]
    one_of(("", *KINDS), table, "--table")
    one_of(("method", "encoder", "fraction", "task"), by, "--by")
    one_of(("std", "ci95", "sem", "range"), spread, "--spread")
    one_of(("", "best", "last", "both"), checkpoint, "--select")
    one_of(("", "published"), against, "--against")
    one_of(("seeds", "items", "none"), mark, "--mark")
    ask = query(methods, fractions, sizes, tasks, checkpoint, by=by, spread=spread, mixed=mixed)
    full = (*methods_of(full), "")[0]
    held = summaries_of(results)
    records = list(held.records)
    if benchmark:
        [plan] = plans(held.folder, [], benchmark)
        records = own(records, plan)
    several = groups(records, encoders=by == "encoder")
    if ask.methods or ask.fractions or ask.sizes:  # encoders as they stand have none of these
        several = [group for group in several if not all(map(as_it_stands, group))] or several
    several = scored_on(several, ask.tasks)
    typed = {"ablation": {"full": full}, "sensitivity": {"option": option}}.get(table, {})
    layout = _Layout(held, ask, form.pages, table, typed, mark, str(data_dir), benchmark, learning_curve)
    tell("laying out tables")
    pages = [layout.group(group, bool(against)) for group in several or [[]]]
    sheets = [sheet for one in pages for sheet in one.sheets]
    if learning_curve and not any(sheet.name == NAME for sheet in sheets):
        raise no_learning_curve([one.study for one in pages])
    # Programs read rows of one kind: those of the comparison where there is one.
    shown = comparison(sheets) if form.data and sheets else score_report(pages, plain(held.folder.resolve().name))
    tell("writing tables")
    return form.write(shown)


@dataclass(frozen=True, slots=True)
class _Layout:
    """What is asked of every group of records."""

    results: Summaries
    ask: StudyQuery
    pages: bool  # whether the format shows more of a folder than one table
    table: str
    typed: dict[str, str]
    mark: str
    data_dir: str
    benchmark: str
    learning_curve: bool

    def group(self, records: list[RecordSummary], published: bool) -> Group:
        """The tables of records of one encoder and corpus, and what papers print beside them."""
        from cseb.analysis.comparable import as_it_stands
        from cseb.experiment.plan_file import layout, plans, settled
        from cseb.papers.published_comparison import compared_with_published
        from cseb.reports.documents import Group
        from cseb.reports.layouts import KINDS

        standing = bool(records) and all(map(as_it_stands, records))
        ask = replace(self.ask, by="encoder", select="last") if standing and self.ask.by == "method" else self.ask
        claim = "none" if standing and self.mark == "seeds" else self.mark  # they have one seed
        planned: list[Benchmark] = plans(self.results.folder, records, self.benchmark)
        ask = self._marking(settled(ask, records, planned), claim, records)
        kind, special = (self.table, self.typed) if self.table or self.pages else layout(planned)
        kind = kind or ("tasks" if standing else "few-shot")
        problems = self.results.problems
        tables = [_laid_out(kind, records, problems, ask, special, bool(self.table))]
        if self.pages and not self.table and not standing:
            tables += [KINDS["tasks"](records, problems, one) for one in _each_size(ask, tables[0].study)]
        tables = list(map(with_word_baselines, tables))
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

    def _curves(self, study: Study, records: list[RecordSummary], ask: StudyQuery) -> Iterator[Sheet]:
        """What more sentences bring to each method, at each checkpoint asked for."""
        from cseb.experiment.load_item_scores import load_item_scores
        from cseb.records.store import Store
        from cseb.reports.learning_curve import alone

        tasks, items = study.chosen(ask.tasks), load_item_scores(Store(self.results.folder), records, self.data_dir)
        for select in ask.selects:
            if (found := alone(study, tasks, select, items)) is not None:
                yield found

    def _marking(self, ask: StudyQuery, mark: str, records: list[RecordSummary]) -> StudyQuery:
        """With what marks cells, and what a mark says."""
        from cseb.analysis.significance import by_items, by_seeds
        from cseb.experiment.load_item_scores import load_item_scores
        from cseb.records.store import Store

        procedure = "paired by seed, Holm over the column, 5 % significance level"
        match mark:
            case "none":
                return ask
            case "items":
                known = by_items(load_item_scores(Store(self.results.folder), records, self.data_dir))
                return replace(ask, best=known, claim=f"{procedure}, for new seeds and new test items")
        return replace(ask, best=by_seeds(), claim=f"{procedure}, for new seeds on the same test items")


def query(
    methods: str | Sequence[str],
    fractions: str | float | Sequence[float],
    sizes: str | int | Sequence[int],
    tasks: str | Sequence[str],
    checkpoint: str,
    **others: Any,
) -> StudyQuery:
    """What a user asks of a folder of records, read. Raises: BadBenchmark, BadSpec, UnknownName."""
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
    records: list[RecordSummary],
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


def with_word_baselines(table: Table) -> Table:
    """With what counting words is worth below the table, for the tasks of each protocol whose data come with cseb."""
    from cseb.analysis.word_baselines import word_baselines
    from cseb.reports.tables import averaged

    measured: dict[str, list[str]] = {}
    for task in table.tasks:
        measured.setdefault(table.study.tasks[task], []).append(task)
    notes = []
    for tasks in measured.values():
        over = "average over these tasks" if len(measured) == 1 else averaged(tasks)
        if points := ", ".join(f"{name} {value:.2f}" for name, value in word_baselines(tuple(tasks)).items()):
            notes.append(f"Baselines without training, {over}: {points}.")
    return table.noted(*notes)
