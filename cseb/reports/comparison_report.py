"""The sheets of one study: comparisons of methods at each size, and of each method with itself on fewer sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cseb.analysis import paired
from cseb.analysis.comparable import is_untrained
from cseb.analysis.item_scores import ItemScores
from cseb.analysis.paired import Sample, compared, samples
from cseb.analysis.study import Study
from cseb.errors import BadResults, did_you_mean
from cseb.records.differences import tag
from cseb.records.record import Select
from cseb.reports.captions import averaged, bare, not_shown, ranges, signature
from cseb.reports.comparison import INTERVALS, SCOPES, Subject, cluster_notes, difference_values, effects, interval_text
from cseb.reports.document import Line, Sheet, Value
from cseb.statistics.paired import MARGIN, STILL
from cseb.text import percent, plain, quantity

DEFAULT_BASELINE = "simcse"  # the baseline where none is named and the study has it
# How notes begin that the short table shows, too.
IN_SHORT = ("Mixed (", "Failed or collapsed", "Not compared", "Baseline: ")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparisonQuery:
    """The comparisons that a user wants to see.

    baseline: a method as typed, "" for all pairs. tasks: as records name them, () for those that share the first one's
    protocol. paired: whether scores of the same seed are subtracted. encoders: other names that a baseline can have.
    """

    baseline: str
    select: Select
    tasks: Sequence[str] = ()
    margin: float = MARGIN
    paired: bool = True
    encoders: tuple[str, ...] = ()


def sheets(study: Study, query: ComparisonQuery, item_scores: ItemScores) -> list[Sheet]:
    """Return comparisons at every size, and the mean over the curve of sizes.

    Raises: BadResults for a baseline that no record has, or if there is nothing to compare.
    """
    if query.baseline and query.baseline not in study.methods:
        known = (*study.methods, *query.encoders)
        raise BadResults(f"no record is of {query.baseline!r}; {did_you_mean(query.baseline, known)}")
    if query.select == "best" and not study.records[0].protocol.dev:
        raise BadResults("no dev set has chosen a best checkpoint in these records; compare the last one instead")
    tasks, sizes = study.chosen(query.tasks), list(study.sizes)
    by_size = {size: paired.samples(study, size, tasks, query.select, item_scores) for size in sizes}
    shown: list[Sheet] = []
    skipped: list[str] = []
    for size in sizes:
        where = f"at {percent(study.sizes[size])} of the corpus ({quantity(size, 'sentence')})"
        values: dict[str, Value] = {"fraction": study.sizes[size], "size": size}
        of_size = _compared(study, query, tasks, by_size[size], f"{query.select} checkpoint", where, values)
        lost = tuple(_lost(study, size, by_size[size], where))
        shown += [replace(sheet, notes=(*sheet.notes, *lost)) for sheet in of_size]
        if query.baseline and by_size[size] and query.baseline not in {sample.method for sample in by_size[size]}:
            skipped.append(f"Not compared {where}, without scores of {plain(query.baseline)}.")
    if len(sizes) > 1:
        scores = f"mean over the curve from {sizes[0]:,} to {quantity(sizes[-1], 'sentence')} (log scale)"
        curves = paired.curve(sizes, list(by_size.values()))
        values = {"sizes": " ".join(map(str, sizes))}
        shown += _compared(study, query, tasks, curves, scores, "over all fractions", values)
    if not shown and is_untrained(study.records[0]):
        raise BadResults(
            f"no other encoder was scored on the same tasks as {study.methods[0]}; name shared tasks with `tasks`, or "
            f"score one with cseb eval --tasks {','.join(map(bare, study.records[0].protocol.tasks))}"
        )
    if not shown:
        raise BadResults("there are no two methods with scores at the same fraction and seeds; nothing can be compared")
    shown[0] = replace(shown[0], notes=(*shown[0].notes, *skipped))
    shown[-1] = replace(shown[-1], notes=(*shown[-1].notes, *_origin(study, query, tasks, item_scores)))
    shown_notes: set[str] = set()
    for place, sheet in enumerate(shown):  # each note below the first sheet that needs it
        shown[place] = replace(sheet, notes=tuple(note for note in sheet.notes if note not in shown_notes))
        shown_notes |= set(sheet.notes)
    return shown


def _lost(study: Study, size: int, candidates: Sequence[Sample], where: str) -> Iterator[str]:
    """Yield a note on runs that failed or collapsed: a difference without them holds for the others only."""
    seeds = {
        sample.method: [seed for seed in sorted(study.runs[sample.method, size]) if seed not in sample.points]
        for sample in candidates
    }
    if lost := [f"{plain(method)} (seeds {ranges(without)})" for method, without in seeds.items() if without]:
        yield f"Failed or collapsed {where}, and so in no difference: {'; '.join(lost)}."


def baseline_of(study: Study, named: str) -> str:
    """Return the named baseline, or simcse, or the first method. Every comparison states which it was."""
    return named or (DEFAULT_BASELINE if DEFAULT_BASELINE in study.methods else study.methods[0])


def _compared(
    study: Study,
    query: ComparisonQuery,
    tasks: Sequence[str],
    candidates: Sequence[Sample],
    scores: str,
    where: str,
    values: dict[str, Value],
) -> Iterator[Sheet]:
    """Return the sheet of one set of samples; nothing if there is nothing to compare."""
    methods = [sample.method for sample in candidates]
    if len(methods) < 2 or (query.baseline and query.baseline not in methods):
        return
    pairs = paired.against(query.baseline, candidates) if query.baseline else paired.all_pairs(candidates)
    family = paired.family(pairs, query.margin, paired=query.paired)
    if not family.pairs:
        return
    subject = Subject(
        scores=f"{averaged(tasks)}, {scores}",
        where=where,
        baseline=query.baseline,
        values={
            "encoder": study.encoder,
            "corpus": study.corpus,
            **values,
            "select": query.select,
            "tasks": " ".join(tasks),
        },
        lacking=next((sample.lacking for sample in candidates if sample.lacking), ""),
    )
    notes = []
    every = sorted({seed for sample in candidates for seed in sample.points})
    absent = {sample.method: [seed for seed in every if seed not in sample.points] for sample in candidates}
    if query.paired and (r := paired.correlation(pairs)) is not None:
        notes.append(
            f"Mean correlation of scores under equal seeds: {r:.2f}. Near 0, pairing gains nothing: --unpaired."
        )
    if query.paired and (unequal := [f"{plain(method)} {ranges(seeds)}" for method, seeds in absent.items() if seeds]):
        notes.append(f"Seeds without scores (missing, failed or collapsed), excluded from pairs: {'; '.join(unequal)}.")
    if without := [plain(method) for method in study.methods if method not in methods]:
        notes.append(f"Not compared {where}, without scores: {', '.join(without)}.")
    compared = {method for pair in family.pairs for method in (pair.a, pair.b)}
    if apart := [plain(method) for method in methods if method not in compared]:
        others = plain(query.baseline) if query.baseline else "another method"
        notes.append(f"Not compared {where}, no seed in common with {others}: {', '.join(apart)}.")
    yield effects(family, subject, notes)


def _origin(study: Study, query: ComparisonQuery, tasks: Sequence[str], item_scores: ItemScores) -> Iterator[str]:
    """Return the notes that concern all sheets."""
    first = study.records[0]
    yield from cluster_notes(item_scores.clusters, tasks)
    if query.select == "best":
        yield (
            f"Best: the checkpoint with the highest score on the dev set {plain(first.protocol.dev)} "
            f"({quantity(first.protocol.dev_pairs, 'labelled item')})."
        )
    if not query.tasks:
        yield from not_shown(study, tasks)
    yield f"Encoder {tag(first.encoder)}; corpus {tag(first.corpus)}."
    yield signature(study, study.sizes, tasks, [query.select])


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
