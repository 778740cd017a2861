"""The table of a family of paired differences: intervals, p-values, conclusions and the notes below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import hypot

from cseb.analysis.paired import Family, Pair
from cseb.reports.captions import bare
from cseb.reports.document import Line, Sheet, Value
from cseb.statistics.items import LEVEL, Clusters, Interval, sd
from cseb.statistics.paired import FEWEST_JUDGED, MOST, POWER, Comparison, Scope, exact_floor
from cseb.text import percent, plain, quantity

SCOPES: tuple[Scope, ...] = ("seeds", "items", "seeds and items")
NONE = "--"
INTERVALS = (
    "seeds, items, seeds and items: 95 % confidence intervals of the mean difference for new seeds (Student's t), for "
    "new test examples (closed form of the variance), for both. wins: seeds with a positive difference."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of a family of comparisons.

    scores: such as "average of 7 tasks". where: such as "at 1 % of the corpus". baseline: the method that every other
    one is compared with, "" for all pairs. values: equal for all rows, for programs. lacking: why there are no item
    intervals, or "".
    """

    scores: str
    where: str
    baseline: str
    values: Mapping[str, Value]
    lacking: str = ""


def effects(family: Family, subject: Subject, notes: Sequence[str] = ()) -> Sheet:
    """Return mean differences with three intervals, wins, adjusted p-values and conclusions."""
    side = f"with {plain(subject.baseline)}" if subject.baseline else "of all pairs"
    return Sheet(
        name="effects",
        title=f"Comparison {side} {subject.where}, {subject.scores}",
        heads=(
            "method" if subject.baseline else "methods",
            *("difference", *SCOPES, "wins", "p (Holm)", "conclusion", "seeds needed"),
        ),
        lines=tuple(
            Line(cells=_cells(pair, family, subject), values=_values(pair, family, subject)) for pair in family.pairs
        ),
        notes=(*_notes(family, subject), *notes),
    )


def _cells(pair: Pair, family: Family, subject: Subject) -> tuple[str, ...]:
    comparison = pair.comparison
    return (
        plain(pair.b) if subject.baseline else f"{plain(pair.b)} - {plain(pair.a)}",
        f"{comparison.mean:+.2f}",
        *(interval_text(comparison.interval(scope)) for scope in SCOPES),
        NONE if comparison.wins is None else f"{comparison.wins}/{comparison.n}",
        _probability(pair.adjusted) if comparison.n >= FEWEST_JUDGED else NONE,
        _conclusion(pair, family.margin),
        _seeds_needed(pair, family) or NONE,
    )


def _values(pair: Pair, family: Family, subject: Subject) -> dict[str, Value]:
    comparison = pair.comparison
    return {
        **subject.values,
        "a": pair.a,
        "b": pair.b,
        **difference_values(comparison, pair.seeds),
        "scope": comparison.scope,
        "p": comparison.p,
        "p_adjusted": pair.adjusted,
        "tests": family.tests,
        "margin": family.margin,
        "conclusion": pair.conclusion,
        "seeds_needed": _seeds_needed(pair, family) or None,
        "detectable": comparison.design.detectable(),
    }


def difference_values(comparison: Comparison, seeds: Sequence[int]) -> dict[str, Value]:
    """Return the differences and both ends of the interval of every scope, for programs."""
    values: dict[str, Value] = {
        "n": comparison.n,
        "n_baseline": len(comparison.a),
        "seeds": ",".join(map(str, seeds)),
        "mean": comparison.mean,
        "differences": " ".join(f"{value!r}" for value in comparison.differences.tolist()),
    }
    for scope in SCOPES:
        interval, name = comparison.interval(scope), scope.replace(" ", "_")
        values |= {
            f"{name}_low": interval.low if interval else None,
            f"{name}_high": interval.high if interval else None,
        }
    return values | {"wins": comparison.wins}


def _seeds_needed(pair: Pair, family: Family) -> str:
    """Return how many seeds would detect an effect of the observed size, or why none would; "" where none is needed."""
    effect, design = abs(pair.comparison.mean), pair.comparison.design
    if pair.conclusion not in ("inconclusive", "too few seeds") or not pair.comparison.varies:
        return ""
    if not pair.comparison.paired:  # so many of each method, however many the baseline has now
        design = replace(design, sd=hypot(sd(pair.comparison.a), sd(pair.comparison.b)))
    if design.too_small(effect, family.level):
        return "more items"
    seeds = design.seeds_for(effect, family.level) if effect else None
    return f"more than {MOST:,} seeds" if seeds is None else f"about {max(seeds, FEWEST_JUDGED)} seeds"


def _conclusion(pair: Pair, margin: float) -> str:
    """Return the conclusion with the sources of variation that it covers."""
    comparison = pair.comparison
    if pair.conclusion == "identical":
        return f"identical in all {comparison.n} seeds"
    if pair.conclusion == "too few seeds":
        intervals = "intervals only" if any(map(comparison.interval, SCOPES)) else "no interval"
        reason = "the same difference in every seed, no test" if comparison.fixed else intervals
        return f"n = {comparison.n}, {reason}"
    interval = comparison.interval(comparison.scope, 2 * LEVEL) if comparison.scope else None
    small = pair.conclusion in ("better", "worse") and interval is not None and interval.inside(-margin, margin)
    extent = f", by less than {margin:g}" if small else ""
    scope = "items; these checkpoints" if comparison.scope == "items" else comparison.scope
    return f"{pair.conclusion}{extent} ({scope})"


def interval_text(interval: Interval | None) -> str:
    """Return `-0.31 to 1.20`."""
    return NONE if interval is None else f"{interval.low:.2f} to {interval.high:.2f}"


def _probability(value: float | None) -> str:
    """Return three digits, or that it is smaller."""
    return NONE if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def cluster_notes(clusters: Mapping[str, Clusters], tasks: Sequence[str]) -> Iterator[str]:
    """Return how many independent items each task has, and where clusters are too large to be kept together."""
    used = {task: clusters[task] for task in tasks if task in clusters}
    clustered = [
        f"{bare(task)} {each.count:,} of {len(each.labels):,} (largest {percent(each.largest)})"
        for task, each in used.items()
        if each.used and each.count < len(each.labels)
    ]
    if clustered:
        yield (
            "Test examples that depend on one another (pairs with a sentence in common, queries with an answer or "
            f"intent in common) are clustered; clusters: {', '.join(clustered)}."
        )
    for task, each in used.items():
        if not each.used:
            yield (
                f"{bare(task)}: not clustered, as one cluster holds {percent(each.largest)} of its items; intervals "
                "may be too narrow."
            )


def _notes(family: Family, subject: Subject) -> Iterator[str]:
    side = f"each method minus {plain(subject.baseline)}" if subject.baseline else "the first method minus the second"
    paired = all(pair.comparison.paired for pair in family.pairs)
    design = "paired by seed" if paired else "not paired: all seeds of both methods (Cochran and Cox's t-test)"
    yield f"Difference in score: {side}, tasks averaged within a seed, {design}."
    yield INTERVALS
    if subject.lacking:
        yield f"Without an interval for new test examples, a conclusion holds for new seeds only: {subject.lacking}."
    tested = [
        pair.comparison for pair in family.pairs if pair.comparison.n >= FEWEST_JUDGED and pair.adjusted is not None
    ]
    counts = sorted({pair.comparison.n for pair in family.pairs})
    if tested:
        scopes = " or ".join(sorted({comparison.scope or "" for comparison in tested}))
        seeds = ",".join(map(str, sorted({comparison.n for comparison in tested})))
        yield (
            f"p: two-sided, for {scopes}, n = {seeds}, Holm over the {quantity(family.tests, 'comparison')} "
            f"{subject.where}. better, worse: significant, p at most {LEVEL:g}; equivalent: 90 % interval within the "
            f"margin of {quantity(family.margin, 'point')} (TOST); inconclusive: neither."
        )
    if 1 in counts:
        yield "A single seed has no interval for new seeds and no conclusion."
    if any(1 < n < FEWEST_JUDGED for n in counts):
        yield f"Fewer than {FEWEST_JUDGED} seeds: intervals and no conclusion."
    if any(pair.conclusion == "identical" for pair in family.pairs):
        yield (
            "identical: the same score in every seed, and on every test example where items are known; p = 1, counted "
            "among the comparisons. Are these two names for the same computation?"
        )
    if any(pair.comparison.fixed for pair in family.pairs):
        yield "A difference that is the same in every seed has no variance and cannot be tested; the methods do differ."
    if any(_seeds_needed(pair, family) for pair in family.pairs):
        yield (
            f"seeds needed: to detect a true difference of the observed size with {percent(POWER)} power at "
            f"significance level {LEVEL:g} / comparisons; more items: more seeds cannot help, the test sets are too "
            "small."
        )
    if paired and counts and 1 < counts[0] < 6:  # unpaired, five seeds of each method reach 0.008
        floor = exact_floor(counts[0])
        yield f"With {counts[0]} seeds an exact test cannot reach p below {floor:g}; use at least 6 seeds."
