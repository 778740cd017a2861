"""Paired comparisons of methods: differences by seed, on the same test examples.

A sample is one method at one size: scores by seed, and the contribution of each cluster of test examples to them. A
single task, an average over tasks and the area under a curve over sizes are compared in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cseb.analysis.item_scores import ItemScores
from cseb.analysis.stats import score
from cseb.analysis.study import Study
from cseb.progress import counted
from cseb.records.record import Select
from cseb.statistics import gain
from cseb.statistics.intervals import LEVEL
from cseb.statistics.items import variance
from cseb.statistics.multiple import holm, with_best
from cseb.statistics.paired import MARGIN, Comparison, Verdict

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """One method, scored. points: seed to points. contributions: seed to (G,), see statistics.items; {} if unknown.

    lacking: why `contributions` is empty, or "".
    """

    method: str
    points: Mapping[int, float]
    contributions: Mapping[int, Floats]
    lacking: str = ""

    @property
    def mean(self) -> float:
        """Over the seeds that there are."""
        return float(np.mean(list(self.points.values())))


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Method `b` against method `a` at the seeds they share. adjusted: p-value for its family, None if it has none."""

    a: str
    b: str
    seeds: tuple[int, ...]
    found: Comparison
    adjusted: float | None
    verdict: Verdict


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Comparisons that were corrected together. tests: how many of them have a p-value."""

    pairs: tuple[Pair, ...]
    margin: float
    tests: int

    @property
    def significant(self) -> frozenset[frozenset[str]]:
        """Pairs of methods that differ significantly, or by an amount that is the same in every seed."""
        return frozenset(
            frozenset((one.a, one.b)) for one in self.pairs if one.verdict in ("better", "worse") or one.found.fixed
        )

    @property
    def untested(self) -> frozenset[frozenset[str]]:
        """Pairs of methods with too few seeds in common for a verdict."""
        return frozenset(frozenset((one.a, one.b)) for one in self.pairs if one.verdict == "too few seeds")

    @property
    def level(self) -> float:
        """The error rate that the hardest step of Holm's correction leaves to one comparison."""
        return LEVEL / max(1, self.tests)


def samples(
    study: Study, size: int, tasks: Sequence[str], select: Select, item_scores: ItemScores | None = None
) -> list[Sample]:
    """Return a sample of every method with scores at this size; tasks are averaged within a seed."""
    scored_methods = []
    what = f"reading methods at {size:,} sentences"
    for method in counted(study.methods, what, len(study.methods)):
        runs = study.runs.get((method, size), {})
        scored = {seed: score(runs.get(seed), tasks, select) for seed in study.seeds}
        points = {seed: value for seed, value in scored.items() if not isinstance(value, str)}
        if not points:
            continue
        contributions: Mapping[int, Floats] = {}
        lacking = "no items were asked for"
        if item_scores is not None:
            contributions, lacking = item_scores.contributions({seed: runs[seed] for seed in points}, tasks, select)
        scored_methods.append(Sample(method, points, contributions, lacking))
    return scored_methods


def curve(sizes: Sequence[int], by_size: Sequence[Sequence[Sample]]) -> list[Sample]:
    """Samples of the mean height of each method's curve over sizes, for methods and seeds that have all of them."""
    weights = gain.weights(np.array(sizes, dtype=np.float64))
    named = [{one.method: one for one in each} for each in by_size]
    found = []
    for name in named[0]:
        row = [each[name] for each in named if name in each]
        if len(row) < len(sizes):
            continue
        seeds = [seed for seed in row[0].points if all(seed in one.points for one in row)]
        points = {seed: float(sum(w * one.points[seed] for w, one in zip(weights, row, strict=True))) for seed in seeds}
        whole = all(seed in one.contributions for one in row for seed in seeds)
        contributions = {
            seed: _weighted(weights, [one.contributions[seed] for one in row]) for seed in (seeds if whole else ())
        }
        if points:
            found.append(Sample(name, points, contributions, next((one.lacking for one in row if one.lacking), "")))
    return found


def against(baseline: str, found: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return pairs of the baseline and every other method."""
    [first] = [one for one in found if one.method == baseline]
    return [(first, one) for one in found if one is not first]


def all_pairs(found: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return every pair of methods once, in the order of the study."""
    return list(combinations(found, 2))


def family(
    pairs: Iterable[tuple[Sample, Sample]], margin: float = MARGIN, correct: Callable[[Floats], Floats] = holm
) -> Family:
    """Compare pairs and correct their p-values together. Pairs without a common seed are left out."""
    shared = [(a, b, sorted(set(a.points) & set(b.points))) for a, b in pairs]
    pairs_compared = [(a.method, b.method, seeds, compared(a, b, seeds)) for a, b, seeds in shared if seeds]
    raw = [found.p for *_, found in counted(pairs_compared, "comparing methods", len(pairs_compared))]
    known = correct(np.array([p for p in raw if p is not None], dtype=np.float64))
    rest = iter(known.tolist())
    adjusted = [None if p is None else next(rest) for p in raw]
    made = tuple(
        Pair(a, b, tuple(seeds), found, p, found.verdict(p, margin))
        for (a, b, seeds, found), p in zip(pairs_compared, adjusted, strict=True)
    )
    return Family(made, margin, len(known))


def compared(a: Sample, b: Sample, seeds: Sequence[int]) -> Comparison:
    """Return the comparison of two samples at these seeds; without example variance unless both have contributions."""
    first, second = (np.array([one.points[seed] for seed in seeds]) for one in (a, b))
    items = None
    if all(seed in one.contributions for one in (a, b) for seed in seeds):
        items = variance(np.mean([b.contributions[seed] - a.contributions[seed] for seed in seeds], axis=0))
    return Comparison(first, second, items)


def best_methods(
    study: Study, size: int, tasks: Sequence[str], select: Select, item_scores: ItemScores | None = None
) -> tuple[str, ...]:
    """Return the methods of one column to print in bold: the best, and those not significantly different from it.

    A method with too few seeds for a test is left out; all are returned if that holds for the best one.
    """
    found = sorted(samples(study, size, tasks, select, item_scores), key=lambda one: -one.mean)
    names = [one.method for one in found]
    if not names:
        return ()
    pairs = family(all_pairs(found))
    if all(frozenset((names[0], other)) in pairs.untested for other in names[1:]):
        return tuple(names)
    return with_best(names, pairs.significant | pairs.untested)


def _weighted(weights: Floats, contributions: Sequence[Floats]) -> Floats:
    total: Floats = weights @ np.stack(contributions)
    return total
