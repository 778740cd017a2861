"""The table of what more sentences bring to each method."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from cseb.analysis.item_scores import ItemScores
from cseb.analysis.learning_curve import FEWEST, LearningCurve, Step, learning_curve, times_as_many
from cseb.analysis.paired import Sample, samples
from cseb.analysis.study import Study
from cseb.errors import BadResults
from cseb.records.record import Select
from cseb.reports.comparison import INTERVALS, SCOPES, clusters_in_words, ends_by_name, span
from cseb.reports.document import Value
from cseb.reports.sheet import Line, Sheet
from cseb.reports.tables import averaged
from cseb.text import plain, quantity

NAME = "learning-curve"


def learning_curve_sheet(
    study: Study, by_size: Mapping[int, Sequence[Sample]], tasks: Sequence[str], select: Select
) -> Sheet | None:
    """Each method at each number of sentences against the number before it; None if there is no such pair.

    by_size: the samples of the study.
    """
    found = learning_curve(by_size)
    if not found.steps:
        return None
    known: dict[str, Value] = {"encoder": study.encoder, "corpus": study.corpus}
    known |= {"select": select, "tasks": " ".join(tasks)}
    return Sheet(
        name=NAME,
        title=f"Learning curve: what more sentences bring, {averaged(tasks)}, {select} checkpoint",
        heads=("method", "sentences", "difference", *SCOPES, "wins"),
        lines=tuple(_line(step, known) for step in found.steps),
        notes=tuple(_notes(found, max(by_size))),
    )


def alone(study: Study, tasks: Sequence[str], select: Select, item_scores: ItemScores) -> Sheet | None:
    """The same for a page without comparisons, which says itself how items are clustered."""
    by_size = {size: samples(study, size, tasks, select, item_scores) for size in study.sizes}
    found = learning_curve_sheet(study, by_size, tasks, select)
    return found and replace(found, notes=(*found.notes, *clusters_in_words(item_scores.clusters, tasks)))


def no_learning_curve(studies: Sequence[Study]) -> BadResults:
    """What is said where no study has one."""
    sizes = sorted({size for study in studies for size in study.sizes})
    found = f"{quantity(len(sizes), 'size')} ({', '.join(map(str, sizes))})"
    return BadResults(
        f"a learning curve needs two sizes and {FEWEST} seeds that a trained method has at both; found {found}; run "
        "further `fractions` or `seeds`"
    )


def _line(step: Step, known: Mapping[str, Value]) -> Line:
    comparison = step.found
    values: dict[str, Value] = {**known, "method": step.method, "from_size": step.few, "size": step.many}
    values |= {"n": comparison.n, "seeds": ",".join(map(str, step.seeds)), "mean": comparison.mean}
    values |= {"differences": " ".join(f"{value!r}" for value in comparison.differences.tolist())}
    return Line(
        cells=(
            plain(step.method),
            times_as_many(step.few, step.many),
            f"{comparison.mean:+.2f}",
            *(span(comparison.interval(scope)) for scope in SCOPES),
            f"{comparison.wins}/{comparison.n}",
        ),
        values=values | ends_by_name(comparison) | {"wins": comparison.wins},
    )


def _notes(found: LearningCurve, largest: int) -> Iterator[str]:
    yield (
        "Difference in points: a method on more sentences minus the same method on fewer, tasks averaged within a "
        "seed, paired by seed; the smaller subset is a part of the larger one."
    )
    yield INTERVALS
    yield f"Not corrected for several comparisons. What more than {largest:,} sentences bring was not measured."
    if found.lacking:
        yield f"No intervals for new test items: {found.lacking}."
    if found.still:
        yield f"The same points at all sizes: {', '.join(map(plain, found.still))}."
    if found.few:
        yield f"Fewer than {FEWEST} seeds at two sizes: {', '.join(map(plain, found.few))}."
