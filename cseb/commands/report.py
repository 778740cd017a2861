"""Print the tables of a folder of records, in every format."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb import parameters
from cseb.commands.command_line import Call, Out
from cseb.commands.results import Results, as_planned, benchmarks_of, query, results_of
from cseb.commands.screen import write
from cseb.errors import BadBenchmark, BadResults, one_of
from cseb.parameters import command, option
from cseb.progress import tell
from cseb.text import plain

if TYPE_CHECKING:
    from cseb.analysis.study import Study, StudyQuery
    from cseb.records.record import Record
    from cseb.reports.document import Grid, Sheet
    from cseb.reports.tables import Table

KINDS = ("few-shot", "tasks", "ablation", "sensitivity")
DETAILS = {"ablation": "METHOD", "sensitivity": "PART.OPTION"}


@command
def report(
    results: Annotated[Results | str | Path, parameters.RESULTS] = "results",
    format: Annotated[str, parameters.FORMAT] = "terminal",
    *,
    table: Annotated[
        str,
        option(
            "Methods by training set size (few-shot), methods by tasks (tasks), differences from a method "
            "(ablation:simcse) or values of an option (sensitivity:infonce.temperature). By default what the benchmark "
            "says, or few-shot."
        ),
    ] = "",
    methods: Annotated[str | Sequence[str], parameters.SHOW_METHODS] = (),
    sizes: Annotated[str | float | Sequence[float], parameters.SHOW_SIZES] = (),
    tasks: Annotated[str | Sequence[str], parameters.SHOW_TASKS] = (),
    checkpoint: Annotated[str, option(parameters.CHECKPOINT_HELP, choices=("best", "last", "both"))] = "",
    learning_curve: Annotated[bool, parameters.LEARNING_CURVE] = False,
    detail: Annotated[bool, option("Print all notes below tables: encoder, protocol, gaps, excluded records.")] = False,
    mixed: Annotated[bool, parameters.MIXED] = False,
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
    from cseb.analysis.comparable import distinction, groups, is_untrained, scored_on
    from cseb.analysis.study import choose
    from cseb.reports.comparison_report import NAME, no_learning_curve
    from cseb.reports.documents import score_grid
    from cseb.reports.formats import FORMATS

    form = FORMATS[one_of(FORMATS, format, "`format`")]
    kind, _, special = table.partition(":")
    if special and kind not in DETAILS:
        takes = " or ".join(f"{each}:{what}" for each, what in DETAILS.items())
        raise BadBenchmark(f"`table` is {table!r}; only {takes} takes a value behind a colon")
    one_of(("", *KINDS), kind, "`table`")
    ask = query(methods, sizes, tasks, checkpoint, mixed=mixed)
    folder = results_of(results)
    several = groups(folder.records, ask.tasks)
    if ask.methods or ask.fractions or ask.sizes:  # untrained encoders have none of these
        trained = [record for record in folder.records if not is_untrained(record)] or list(folder.records)
        chosen = {record.key for record in choose(trained, ask.methods, ask.fractions, ask.sizes)}
        several = [group for group in several if any(record.key in chosen for record in group)]
    several = scored_on(several, ask.tasks)
    tell("laying out tables")
    several_trained = sum(not all(map(is_untrained, group)) for group in several) > 1
    layout = _Layout(folder, ask, kind, special, learning_curve, form.data, detail, several_trained)
    pages = [layout.group(group, distinction(group, several)) for group in several or [[]]]
    grids = [grid for _, below in pages for grid in below]
    if learning_curve and not any(grid.name == NAME for grid in grids):
        raise no_learning_curve([shown.study for shown, _ in pages])
    tell("writing tables")
    # Programs read rows of one kind: those of the comparison where there is one.
    if form.data and grids:
        return form.write(grids)
    return form.write([grid for shown, below in pages for grid in (score_grid(shown), *below)])


def print_tables(call: Call[str], *, out: Out = None) -> None:
    """Print the tables, or write them into a file."""
    gc.disable()  # a hundred thousand records are no garbage, and this process ends soon
    write(call(), out)


@dataclass(frozen=True, slots=True)
class _Layout:
    """The options of `report` for each group of comparable records.

    kind: of table that was named; "" for none. special: the method of an ablation, or the option of a sensitivity
    table. data: whether a program reads the tables. several: whether more than one group was trained.
    """

    results: Results
    ask: StudyQuery
    kind: str
    special: str
    learning_curve: bool
    data: bool
    detail: bool
    several: bool

    def group(self, records: list[Record], distinct: str) -> tuple[Table, list[Grid]]:
        """Return the table of records of one encoder and corpus, and the tables below it.

        distinct: what distinguishes the table from another of the same tasks; "" for nothing.
        """
        from cseb.analysis.comparable import is_untrained
        from cseb.analysis.tuning import footer, sensitivities
        from cseb.reports.tuning_tables import dev_score_grids

        untrained = bool(records) and all(map(is_untrained, records))
        ask = self.ask.within(records)
        ask = replace(ask, encoders=True, select="last") if untrained else ask
        planned = benchmarks_of(self.results.folder, records)
        ask = replace(as_planned(ask, records, planned), mark=not untrained)  # an untrained encoder has one seed
        kind, special = self.kind, self.special
        if not kind:
            kind, _, special = (planned[0].table if len(planned) == 1 else "").partition(" ")
        table = self._table(kind or ("tasks" if untrained else "few-shot"), special, records, ask)
        trials = {trial.key: trial for trial in self.results.trials}
        shown = table.study.methods
        tuned = [search for search in sensitivities(records, trials) if search.method in shown]
        tuned.sort(key=lambda search: shown.index(search.method))
        table = table.noted(*footer(tuned, self.detail and not self.data))
        below = [sheet.grid() for sheet in self._curves(table.study, records, ask)] if self.learning_curve else []
        below += dev_score_grids(tuned) if self.detail and not self.data else []
        if records and not untrained:
            table = _with_word_baselines(table, self.results.records)
        if distinct:
            table = table.noted(f"{distinct[0].upper()}{distinct[1:]}.")
        if self.detail or self.data:
            return table, below
        if self.several and table.encoder:
            table = table.noted(f"Encoder {table.encoder}; corpus {table.corpus}.")
        return table.in_short(), below

    def _table(self, kind: str, special: str, records: list[Record], ask: StudyQuery) -> Table:
        """Return the table; few-shot with the reason below it if these records cannot fill the benchmark's kind."""
        from cseb.methods.grammar import labels
        from cseb.reports.layouts import KINDS

        options = {"ablation": {"full": ""}, "sensitivity": {"option": special}}
        if special and kind == "ablation":
            options["ablation"]["full"] = labels(special)[0]
        try:
            return KINDS[kind](records, self.results.problems, ask, **options.get(kind, {}))
        except BadResults as error:
            if self.kind or kind == "few-shot":
                raise
            table = KINDS["few-shot"](records, self.results.problems, ask)
            return table.noted(f"Not as the benchmark lays it out ({kind}): {error}.")

    def _curves(self, study: Study, records: list[Record], ask: StudyQuery) -> Iterator[Sheet]:
        """Yield the learning curve of each method, at each checkpoint asked for."""
        from cseb.experiment.benchmark import load_item_scores
        from cseb.records.store import Store
        from cseb.reports.comparison_report import learning_curve_alone

        tasks, items = study.chosen(ask.tasks), load_item_scores(Store(self.results.folder), records)
        for select in ask.selects:
            if (sheet := learning_curve_alone(study, tasks, select, items)) is not None:
                yield sheet


def _with_word_baselines(table: Table, records: Sequence[Record]) -> Table:
    """Return the table with notes of the scores of bag-of-words baselines, averaged over the tasks of each protocol."""
    from cseb.analysis.stats import word_baselines
    from cseb.reports.captions import averaged

    alike: dict[str, list[str]] = {}
    for task in table.tasks:
        alike.setdefault(table.study.tasks[task], []).append(task)
    notes = []
    for tasks in alike.values():
        over = "average over these tasks" if len(alike) == 1 else averaged(tasks)
        baselines = word_baselines(records, tasks, table.study.records)
        notes += [f"Baseline {plain(name)}, {over}: {score:.2f}." for name, score in baselines.items()]
    return table.noted(*notes)
