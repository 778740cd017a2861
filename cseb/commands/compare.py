"""Compare methods by paired differences."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cseb import parameters
from cseb.commands.command_line import Call, Out
from cseb.commands.results import Results, methods_of, names, results_of
from cseb.commands.screen import write
from cseb.errors import BadResults, between, one_of
from cseb.parameters import command, option, sizes_and_fractions
from cseb.text import percent, plain

if TYPE_CHECKING:
    import pandas as pd

    from cseb.records.record import Select
    from cseb.reports.document import Line, Sheet

MARGIN = 1e6  # no score of a record is larger
NONE = "--"
ALL = "all"
UNTRAINED_HEADS = ("encoder", "difference", "95 % interval", "conclusion")
UNTRAINED_NOTE = "95 % interval and conclusion: for new examples, each pair by itself. --detail shows more."


@dataclass(frozen=True, slots=True)
class Comparison:
    """Paired comparisons of methods.

    Attributes:
        sheets: the tables in full; the first one, ``effects``, has the paired differences.
        detail: whether the text shows all tables in full, or one line for each pair and size.
    """

    sheets: tuple[Sheet, ...]
    detail: bool = False

    @property
    def rows(self) -> list[dict[str, object]]:
        """Return every row of every table by column; ``sheet`` names the table."""
        return [{"sheet": sheet.name, **line.values} for sheet in self.sheets for line in sheet.lines]

    def frame(self, sheet: str = "effects") -> pd.DataFrame:
        """Return one row for each comparison of a table: method, baseline, mean (the paired difference) and more.

        Raises: BadResults if there is no such table.
        """
        import pandas as pd

        tables = list(dict.fromkeys(table.name for table in self.sheets))
        if sheet not in tables:
            raise BadResults(f"no table of this comparison is called {sheet!r}; known: {', '.join(tables)}")
        rows = [dict(line.values) for table in self.sheets if table.name == sheet for line in table.lines]
        return pd.DataFrame(rows).rename(columns={"a": "baseline", "b": "method"})

    def text(self, format: str = "terminal") -> str:
        """Return the tables as text. csv and json have every row in full precision. Raises: BadSpec."""
        from cseb.reports.formats import FORMATS

        form = FORMATS[one_of(FORMATS, format, "`format`")]
        full = self.detail or form.data
        return form.write([sheet.grid() for sheet in (self.sheets if full else _in_short(self.sheets))])

    def __str__(self) -> str:
        return self.text()


@command
def compare(
    results: Annotated[Results | str | Path, parameters.RESULTS] = "results",
    *,
    baseline: Annotated[
        str,
        option(
            "Method to compare with, an encoder that cseb eval scored, or all for every pair of methods. By default "
            "simcse where there is one."
        ),
    ] = "",
    methods: Annotated[str | Sequence[str], parameters.SHOW_METHODS] = (),
    sizes: Annotated[str | float | Sequence[float], parameters.SHOW_SIZES] = (),
    tasks: Annotated[str | Sequence[str], parameters.SHOW_TASKS] = (),
    checkpoint: Annotated[str, option(parameters.CHECKPOINT_HELP, choices=("best", "last"))] = "",
    margin: Annotated[float, option("Score below which a difference does not matter.")] = 0.5,
    unpaired: Annotated[
        bool, option("Compare all seeds of both methods (Cochran and Cox's t-test) in place of shared seeds, paired.")
    ] = False,
    detail: Annotated[bool, option("Show all intervals, wins, seeds needed and how they were computed.")] = False,
    mixed: Annotated[bool, parameters.MIXED] = False,
) -> Comparison:
    """Compare methods by paired differences, with intervals for new seeds and new test examples.

    The average over tasks is the primary comparison, corrected by Holm at each training set size.

    Returns:
        The comparison: print it, or take its `rows` or `frame()`.

    Raises:
        BadResults: if there is nothing to compare.

    Examples:
        >>> import cseb
        >>> comparison = cseb.compare("results", baseline="simcse", sizes=[0.01])
        >>> sorted(comparison.frame().method)
        ['micse', 'msse']
    """
    from cseb.analysis.beside import row_name, with_encoder
    from cseb.analysis.comparable import groups, is_untrained, scored_on
    from cseb.analysis.study import choose, gather
    from cseb.experiment.benchmark import load_item_scores
    from cseb.records.differences import tag
    from cseb.records.store import Store
    from cseb.reports.captions import mixed_note
    from cseb.reports.comparison_report import ComparisonQuery, baseline_of, sheets
    from cseb.tasks.names import recorded_names

    between(0, MARGIN, margin, "`margin`")
    folder = results_of(results)
    store, records = Store(folder.folder), list(folder.records)
    select = cast("Select", checkpoint or ("best" if any(record.protocol.dev for record in records) else "last"))
    trained = [record for record in records if not is_untrained(record)] or records  # the others have no baseline
    shown: list[Sheet] = []
    counts, fractions = sizes_and_fractions(sizes)
    asked = recorded_names(names(tasks))
    named, known = methods_of(methods), {record.method for record in trained}
    if named and (own := baseline or ("simcse" if len(named) == 1 else "")) in known:
        named = tuple(dict.fromkeys([own, *named]))
    chosen = choose(trained, named, fractions, counts)
    several = scored_on(groups(chosen, asked), asked) or [records]
    scored = {record.key: record for record in records if is_untrained(record)}
    if not any(baseline in ("", ALL, record.method) for record in trained):
        several = [with_encoder(group, baseline, records, asked) for group in several]
    studies = [(group, gather(group, encoders=all(map(is_untrained, group)), mixed=mixed)) for group in several]
    if all(map(is_untrained, chosen)):  # one group for each set of tasks, and an encoder is in some of them
        studies = [each for each in studies if len(each[1].methods) > 1] or studies
        studies = [each for each in studies if baseline in ("", ALL, *each[1].methods)] or studies
    refused: dict[str, BadResults] = {}
    for group, study in studies:
        query = ComparisonQuery(
            baseline="" if baseline == ALL else baseline_of(study, baseline),
            select=select,
            tasks=asked,
            margin=margin,
            paired=not unpaired,
            encoders=() if study.untrained else tuple(row_name(record) for record in scored.values()),
        )
        try:
            first, *others = sheets(study, query, load_item_scores(store, group))
        except BadResults as error:
            place = f"{study.encoder} on {study.corpus}" if study.encoder else "encoders"
            refused[f"Not compared, {place}: {error}."] = error
            continue
        keys = {} if study.untrained else {record.key: None for record in study.records if record.key in scored}
        origin = [
            f"Baseline: {tag(scored[key].encoder)}, {plain(scored[key].method)}, scored by cseb eval; record {key}."
            for key in keys
        ]
        shown += [replace(first, notes=(*first.notes, *origin, *mixed_note(study))), *others]
    if not shown:
        raise next(iter(refused.values()))
    shown[0] = replace(shown[0], notes=(*shown[0].notes, *refused))
    return Comparison(tuple(shown), detail)


def print_comparison(
    call: Call[Comparison], *, format: Annotated[str, parameters.FORMAT] = "terminal", out: Out = None
) -> None:
    """Print the comparison, or write it into a file."""
    from cseb.reports.formats import FORMATS

    one_of(FORMATS, format, "`format`")  # before the folder is read
    gc.disable()  # records are no garbage, and this process ends soon
    write(call().text(format), out)


def _in_short(sheets: Sequence[Sheet]) -> Iterator[Sheet]:
    """Yield one table for each encoder and corpus, with a line for each pair and size."""
    from cseb.reports.comparison_report import IN_SHORT
    from cseb.reports.document import Line, Sheet

    alike: dict[tuple[object, object, str], list[Line]] = {}
    by_size = [sheet for sheet in sheets if any("size" in line.values for line in sheet.lines)]
    kept = tuple(dict.fromkeys(note for sheet in by_size for note in sheet.notes if note.startswith(IN_SHORT)))
    for sheet in sheets:
        for line in sheet.lines if sheet.name == "effects" else ():
            if "size" in line.values:  # not the average over sizes
                about = line.values["encoder"], line.values["corpus"], sheet.title.partition(" at ")[0]
                alike.setdefault(about, []).append(line)
    for (encoder, corpus, title), lines in alike.items():
        ordered = sorted(lines, key=lambda line: [other.cells[0] for other in lines].index(line.cells[0]))
        tasks = str(lines[0].values["tasks"]).split()
        over = f"average of {len(tasks)} tasks" if len(tasks) > 1 else tasks[0].partition("@")[0]
        trained = bool(encoder)
        heads = ("method", "sentences", "difference", "95 % interval", "p", "conclusion")
        cells = _short_cells if trained else _untrained_cells
        yield Sheet(
            name="comparison",
            title=f"{title}: {encoder} on {corpus}, {over}, {lines[0].values['select']} checkpoint"
            if trained
            else f"{title}: encoders, {over}",
            heads=heads if trained else UNTRAINED_HEADS,
            lines=tuple(Line(cells=cells(line), values=line.values) for line in ordered),
            notes=(_scope_note(lines) if trained else UNTRAINED_NOTE, *kept),
        )
    if not alike:
        yield from (sheet for sheet in sheets if sheet.name == "effects")


def _scope_note(lines: Sequence[Line]) -> str:
    scopes = {str(line.values["scope"]) for line in lines if line.values["scope"]}
    named = {"seeds": "new seeds", "items": "new examples", "seeds and items": "new seeds and examples"}
    covered = " or ".join(named[scope] for scope in sorted(scopes)) or "new seeds"
    paired = any(line.values["differences"] for line in lines)
    test = "" if paired else "Cochran and Cox's t-test of all seeds, "
    return f"95 % interval and p ({test}Holm, at each size): for {covered}. --detail shows more."


def _short_cells(line: Line) -> tuple[str, ...]:
    """Return the cells of the short table from a line of the full one."""
    method, difference, seeds, items, both, _, p, conclusion, *_ = line.cells
    fraction, size = cast(float, line.values["fraction"]), cast(int, line.values["size"])
    return (
        method,
        f"{size:,} ({percent(fraction)})",
        difference,
        next((each for each in (both, seeds, items) if each != NONE), NONE),
        p,
        conclusion.partition(" (")[0],
    )


def _untrained_cells(line: Line) -> tuple[str, ...]:
    """Return the cells of an untrained encoder: it has one seed, so its interval for new examples decides."""
    encoder, difference, _, interval, *_ = line.cells
    low, high = (cast("float | None", line.values[name]) for name in ("items_low", "items_high"))
    if low is None or high is None:
        return encoder, difference, interval, "no interval"
    conclusion = "better" if low > 0 else "worse" if high < 0 else "not significantly different"
    return encoder, difference, interval, conclusion
