"""The table of learning curves: each method on more sentences compared with itself on fewer, under the same seeds.

The subsets of a seed are nested (`data.subset`), so only the added sentences differ. Only sizes that were run are
compared, and nothing is said of larger ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from cseb.analysis.item_scores import ItemScores
from cseb.analysis.paired import Sample, compared, samples
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import Select
from cseb.reports.captions import averaged
from cseb.reports.comparison import INTERVALS, SCOPES, cluster_notes, difference_values, interval_text
from cseb.reports.document import Line, Sheet, Value
from cseb.statistics.paired import STILL
from cseb.text import plain, quantity

NAME = "learning-curve"
FEWEST = 2  # seeds below which a difference has no interval


def learning_curve_sheet(
    study: Study, by_size: Mapping[int, Sequence[Sample]], tasks: Sequence[str], select: Select
) -> Sheet | None:
    """Return each method at each number of sentences against the number before it; None if there is no such pair.

    by_size: the samples of the study. A method with equal scores at all sizes is not trained, and is named instead.
    """
    by_method: dict[str, dict[int, Sample]] = {}
    for size in sorted(by_size):
        for sample in by_size[size]:
            by_method.setdefault(sample.method, {})[size] = sample
    values: dict[str, Value] = {"encoder": study.encoder, "corpus": study.corpus}
    values |= {"select": select, "tasks": " ".join(tasks)}
    lines: list[Line] = []
    constant: list[str] = []
    few: list[str] = []
    for method, sizes in by_method.items():
        steps = [line for before, after in pairwise(sizes.items()) if (line := _line(before, after, values))]
        if not steps:
            few.append(plain(method))
        elif all(np.abs(np.array(str(line.values["differences"]).split(), float)).max() <= STILL for line in steps):
            constant.append(plain(method))
        else:
            lines += steps
    if not lines:
        return None
    lacking = next((s.lacking for sizes in by_method.values() for s in sizes.values() if s.lacking), "")
    notes = [
        "Difference in score: a method on more sentences minus the same method on fewer, tasks averaged within a seed, "
        "paired by seed; the smaller subset is a part of the larger one.",
        INTERVALS,
        f"Not corrected for several comparisons. More than {max(by_size):,} sentences were not measured.",
        *([f"No intervals for new test examples: {lacking}."] if lacking else ()),
        *([f"The same scores at all sizes: {', '.join(constant)}."] if constant else ()),
        *([f"Fewer than {FEWEST} seeds at two sizes: {', '.join(few)}."] if few else ()),
    ]
    return Sheet(
        name=NAME,
        title=f"Learning curve: the gain from more sentences, {averaged(tasks)}, {select} checkpoint",
        heads=("method", "sentences", "difference", *SCOPES, "wins"),
        lines=tuple(lines),
        notes=tuple(notes),
    )


def learning_curve_alone(study: Study, tasks: Sequence[str], select: Select, item_scores: ItemScores) -> Sheet | None:
    """Return the same for a page without comparisons, with notes on how items are clustered."""
    by_size = {size: samples(study, size, tasks, select, item_scores) for size in study.sizes}
    sheet = learning_curve_sheet(study, by_size, tasks, select)
    return sheet and replace(sheet, notes=(*sheet.notes, *cluster_notes(item_scores.clusters, tasks)))


def no_learning_curve(studies: Sequence[Study]) -> BadResults:
    """Return the error of studies without a learning curve."""
    sizes = sorted({size for study in studies for size in study.sizes})
    known = f"{quantity(len(sizes), 'size')} ({', '.join(map(str, sizes))})"
    return BadResults(
        f"a learning curve needs two sizes and {FEWEST} seeds that a trained method has at both; found {known}; run "
        "further sizes or seeds"
    )


def _line(before: tuple[int, Sample], after: tuple[int, Sample], values: Mapping[str, Value]) -> Line | None:
    """Return the comparison of two sizes; None below FEWEST shared seeds."""
    (few, smaller), (many, larger) = before, after
    seeds = sorted(set(smaller.points) & set(larger.points))
    if len(seeds) < FEWEST:
        return None
    comparison = compared(smaller, larger, seeds)
    return Line(
        cells=(
            plain(smaller.method),
            f"{many / few:.3g} times as many sentences ({few:,} to {many:,})",
            f"{comparison.mean:+.2f}",
            *(interval_text(comparison.interval(scope)) for scope in SCOPES),
            f"{comparison.wins}/{comparison.n}",
        ),
        values={
            **values,
            "method": smaller.method,
            "from_size": few,
            "size": many,
            **difference_values(comparison, seeds),
        },
    )
