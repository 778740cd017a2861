"""Paired comparisons of methods: differences by seed, on the same test examples.

A sample is one method at one size: scores by seed, and the contribution of each cluster of test examples to them. A
single task, an average over tasks and the area under a curve over sizes are compared in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from cseb.analysis.item_scores import ItemScores
from cseb.analysis.stats import score
from cseb.analysis.study import Study
from cseb.progress import counted
from cseb.records.record import Select
from cseb.statistics.items import LEVEL, freedom, variance
from cseb.statistics.paired import MARGIN, STILL, Comparison, Conclusion, holm

Floats = npt.NDArray[np.float64]
MOST = 40  # methods of which all pairs are compared; Holm's correction leaves no power for more


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """The scores of one method.

    points: score by seed. contributions: (G,) by seed, see `statistics.items`; {} if unknown. lacking: why
    `contributions` is empty, or "".
    """

    method: str
    points: Mapping[int, float]
    contributions: Mapping[int, Floats]
    lacking: str = ""

    @property
    def mean(self) -> float:
        """Return the mean over the seeds."""
        return float(np.mean(list(self.points.values())))


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """Method `b` compared with method `a` at the seeds they share. adjusted: p-value corrected for the family."""

    a: str
    b: str
    seeds: tuple[int, ...]
    comparison: Comparison
    adjusted: float | None
    conclusion: Conclusion


@dataclass(frozen=True, slots=True, eq=False)
class Family:
    """Comparisons that were corrected together. tests: how many of them have a p-value."""

    pairs: tuple[Pair, ...]
    margin: float
    tests: int

    @property
    def level(self) -> float:
        """Return the error rate that the hardest step of Holm's correction leaves to one comparison."""
        return LEVEL / max(1, self.tests)


def samples(
    study: Study, size: int, tasks: Sequence[str], select: Select, item_scores: ItemScores | None = None
) -> list[Sample]:
    """Return a sample of every method with scores at this size; tasks are averaged within a seed."""
    scored_methods = []
    for method in counted(study.methods, f"reading methods at {size:,} sentences", len(study.methods)):
        runs = study.runs.get((method, size), {})
        scored = {seed: score(runs.get(seed), tasks, select) for seed in sorted({*study.seeds, *runs})}
        points = {seed: value for seed, value in scored.items() if not isinstance(value, str)}
        if not points:
            continue
        contributions: Mapping[int, Floats] = {}
        lacking = "no items were asked for"
        if item_scores is not None:
            contributions, lacking = item_scores.contributions({seed: runs[seed] for seed in points}, tasks, select)
        scored_methods.append(Sample(method, points, contributions, lacking))
    return scored_methods


def curve_weights(sizes: Sequence[float]) -> Floats:
    """Return weights (F,) of increasing sizes whose weighted sum of scores is the mean height of a curve.

    The mean height is the area under the curve over log10(size), linear between sizes, divided by its width.
    """
    axis = np.log10(np.asarray(sizes, dtype=np.float64))
    widths = np.diff(axis)
    weights: Floats = (np.append(widths, 0) + np.append(0, widths)) / 2 / (axis[-1] - axis[0])
    return weights


def curve(sizes: Sequence[int], by_size: Sequence[Sequence[Sample]]) -> list[Sample]:
    """Return samples of the mean height of each method's curve, for methods and seeds that have all sizes."""
    weights = curve_weights(sizes)
    by_method: dict[str, list[Sample]] = {}
    for size_samples in by_size:
        for sample in size_samples:
            by_method.setdefault(sample.method, []).append(sample)
    curves = []
    for method, row in by_method.items():
        seeds = [seed for seed in row[0].points if all(seed in sample.points for sample in row)]
        if len(row) < len(sizes) or not seeds:
            continue
        points = {seed: float(sum(w * s.points[seed] for w, s in zip(weights, row, strict=True))) for seed in seeds}
        complete = all(seed in sample.contributions for sample in row for seed in seeds)
        contributions: dict[int, Floats] = {
            seed: weights @ np.stack([sample.contributions[seed] for sample in row])
            for seed in (seeds if complete else ())
        }
        curves.append(Sample(method, points, contributions, next((s.lacking for s in row if s.lacking), "")))
    return curves


def against(baseline: str, candidates: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return pairs of the baseline and every other method."""
    [first] = [sample for sample in candidates if sample.method == baseline]
    return [(first, sample) for sample in candidates if sample is not first]


def all_pairs(candidates: Sequence[Sample]) -> list[tuple[Sample, Sample]]:
    """Return every pair of methods once, in the order of the study."""
    return list(combinations(candidates, 2))


def family(pairs: Iterable[tuple[Sample, Sample]], margin: float = MARGIN, *, paired: bool = True) -> Family:
    """Compare pairs and correct their p-values by Holm. Pairs without a common seed are left out.

    paired: whether scores of the same seed are subtracted; otherwise all seeds of both methods are used.
    """
    if not paired:
        comparisons = [(a.method, b.method, sorted(b.points), unpaired(a, b)) for a, b in pairs]
        return _corrected(comparisons, margin)
    shared = [(a, b, sorted(set(a.points) & set(b.points))) for a, b in pairs]
    return _corrected([(a.method, b.method, seeds, compared(a, b, seeds)) for a, b, seeds in shared if seeds], margin)


def _corrected(comparisons: Sequence[tuple[str, str, Sequence[int], Comparison]], margin: float) -> Family:
    raw = [comparison.p for *_, comparison in counted(comparisons, "comparing methods", len(comparisons))]
    corrected = holm(np.array([p for p in raw if p is not None], dtype=np.float64))
    rest = iter(corrected.tolist())
    adjusted = [None if p is None else next(rest) for p in raw]
    corrected_pairs = tuple(
        Pair(a, b, tuple(seeds), comparison, p, comparison.conclusion(p, margin))
        for (a, b, seeds, comparison), p in zip(comparisons, adjusted, strict=True)
    )
    return Family(corrected_pairs, margin, len(corrected))


def compared(a: Sample, b: Sample, seeds: Sequence[int]) -> Comparison:
    """Return the comparison of two samples at these seeds; without example variance unless both have contributions."""
    first, second = (np.array([sample.points[seed] for seed in seeds]) for sample in (a, b))
    if not all(seed in sample.contributions for sample in (a, b) for seed in seeds):
        return Comparison(first, second)
    items = np.mean([b.contributions[seed] - a.contributions[seed] for seed in seeds], axis=0)
    return Comparison(first, second, variance(items), freedom(items))


def unpaired(a: Sample, b: Sample) -> Comparison:
    """Return the comparison of all seeds of two samples; without example variance unless both have contributions."""
    first, second = (np.array(list(sample.points.values())) for sample in (a, b))
    if len(a.contributions) < len(first) or len(b.contributions) < len(second):
        return Comparison(first, second, paired=False)
    items = np.subtract(*(np.mean(list(sample.contributions.values()), axis=0) for sample in (b, a)))
    return Comparison(first, second, variance(items), freedom(items), paired=False)


def correlation(pairs: Iterable[tuple[Sample, Sample]]) -> float | None:
    """Return the mean correlation of the scores of two methods under equal seeds; None if no pair has three seeds.

    Pairing by seed gains where it is clearly positive.
    """
    correlations = []
    for a, b in pairs:
        seeds = sorted(set(a.points) & set(b.points))
        scores = np.array([[sample.points[seed] for seed in seeds] for sample in (a, b)])
        if len(seeds) > 2 and min(np.ptp(scores, axis=1)) > STILL:
            correlations.append(float(np.corrcoef(scores)[0, 1]))
    return float(np.mean(correlations)) if correlations else None


def best_methods(candidates: Sequence[Sample]) -> dict[str, bool]:
    """Return whether to print each method in bold: the best, and those not significantly different from it.

    All pairs are corrected together. A method with too few seeds for a test, or none in common with the best one, is
    left out; {} if no method was tested against the best one. At the seeds in common another method can be better than
    the one with the best mean, where seeds failed; then that one is not in bold.
    """
    ordered = sorted(candidates, key=lambda sample: -sample.mean)
    if not ordered:
        return {}
    best = ordered[0].method
    conclusions = {
        pair.b: pair.conclusion
        for pair in family(all_pairs(ordered)).pairs
        if pair.a == best  # the first of all pairs
    }
    tested = {other: conclusion for other, conclusion in conclusions.items() if conclusion != "too few seeds"}
    others = {other: conclusion != "worse" for other, conclusion in tested.items()}
    return {best: "better" not in tested.values(), **others} if others else {}
