"""Methods compared by paired differences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cseb.commands.arguments import listed, methods_of, names
from cseb.commands.results import Results, summaries_of
from cseb.errors import BadBenchmark, BadResults, between, one_of

if TYPE_CHECKING:
    import pandas as pd

    from cseb.analysis.study import Study
    from cseb.records.record import Select
    from cseb.reports.sheet import Sheet

MARGIN = 1e6  # points; no score of a record is larger


@dataclass(frozen=True, slots=True)
class Comparison:
    """A page of comparisons: printed it is the page, as data it is rows in full precision.

    sheets: its tables, in order; the first one, ``effects``, has the paired differences.
    """

    sheets: tuple[Sheet, ...]

    @property
    def rows(self) -> list[dict[str, object]]:
        """Every row of every table by the names of its columns; ``sheet`` names the table."""
        return [{"sheet": sheet.name, **line.values} for sheet in self.sheets for line in sheet.lines]

    def frame(self, sheet: str = "effects") -> pd.DataFrame:
        """One row for each comparison of a table: method, baseline, mean (their paired difference in points) and more.

        Raises: BadResults if the page has no such table.
        """
        import pandas as pd

        known = list(dict.fromkeys(one.name for one in self.sheets))
        if sheet not in known:
            raise BadResults(f"no table of this page is called {sheet!r}; known: {', '.join(known)}")
        rows = [dict(line.values) for one in self.sheets if one.name == sheet for line in one.lines]
        return pd.DataFrame(rows).rename(columns={"a": "baseline", "b": "method"})

    def text(self, format: str = "terminal") -> str:
        """The page as ``terminal``, ``markdown``, ``latex``, ``csv``, ``json`` or ``html``. Raises: BadSpec."""
        from cseb.reports.documents import comparison
        from cseb.reports.formats import FORMATS

        return FORMATS[one_of(FORMATS, format, "--format")].write(comparison(self.sheets))

    def __str__(self) -> str:
        return self.text()


def compare(
    results: Results | str | Path = "results",
    *,
    baseline: str = "",
    all_pairs: bool = False,
    methods: str | Sequence[str] = (),
    fractions: float | Sequence[float] = (),
    sizes: int | Sequence[int] = (),
    tasks: str | Sequence[str] = (),
    checkpoint: str = "",
    margin: float = 0.5,
    single_tasks: bool = False,
    learning_curve: bool = False,
    data_dir: str | Path = "",
    mixed: bool = False,
) -> Comparison:
    """Compare methods by paired differences, with intervals for new seeds and for new test items.

    The average over tasks is the primary comparison, corrected by Holm at each fraction; all else is exploratory.

    Args:
        results: a folder of records, or what `cseb.run` or `cseb.load` returned.
        baseline: the method to compare with; simcse where there is one.
        all_pairs: every two methods in place of a baseline.
        methods: those to compare.
        fractions: of the corpus, those to compare; all by default.
        sizes: numbers of sentences to compare.
        tasks: tasks or groups to average; by default all that are scored alike.
        checkpoint: ``best`` on the dev set or ``last``; by default best where there is one.
        margin: points below which a difference does not matter.
        single_tasks: single tasks too, exploratory.
        learning_curve: what more sentences bring too: each method against itself on fewer.
        data_dir: folder of task files; by default that of the benchmark.
        mixed: let one comparison mix devices, versions and code, and say so below it.

    Returns:
        The page: print it, or take its `rows` or `frame()`.

    Raises:
        BadResults: if there is nothing to compare.
        BadBenchmark: for options that exclude each other.
        BadSpec: for a margin that is no number of points.

    Examples:
        >>> import cseb
        >>> found = cseb.compare("results", baseline="simcse", fractions=[0.01])
        >>> sorted(found.frame().method)
        ['micse', 'msse']
    """
    from cseb.analysis.comparable import as_it_stands, groups
    from cseb.analysis.study import choose, gather
    from cseb.experiment.load_item_scores import load_item_scores
    from cseb.records.store import Store
    from cseb.reports.captions import mixed_note
    from cseb.reports.comparison_report import Wanted, baseline_of, sheets
    from cseb.reports.learning_curve import NAME, no_learning_curve
    from cseb.tasks.names import recorded_names

    one_of(("", "best", "last"), checkpoint, "--select")
    between(0, MARGIN, margin, "--margin")
    if baseline and all_pairs:
        raise BadBenchmark("both --baseline and --all-pairs are given; choose one")
    held = summaries_of(results)
    store, records = Store(held.folder), list(held.records)
    chosen = cast("Select", checkpoint or ("best" if any(record.protocol.dev for record in records) else "last"))
    trained = [record for record in records if not as_it_stands(record)] or records  # the others have no baseline
    shown: list[Sheet] = []
    studies: list[Study] = []
    parts = tuple(map(float, listed(fractions))), tuple(map(int, listed(sizes)))
    for group in groups(choose(trained, methods_of(methods), *parts)) or [records]:
        study = gather(group, mixed=mixed)
        wanted = Wanted(
            baseline="" if all_pairs else baseline_of(study, baseline),
            select=chosen,
            tasks=recorded_names(names(tasks)),
            margin=margin,
            singles=single_tasks,
            learning_curve=learning_curve,
        )
        studies.append(study)
        found = sheets(study, wanted, load_item_scores(store, group, str(data_dir)))
        shown += [replace(found[0], notes=(*found[0].notes, *mixed_note(study))), *found[1:]]
    if learning_curve and not any(one.name == NAME for one in shown):
        raise no_learning_curve(studies)
    return Comparison(tuple(shown))
