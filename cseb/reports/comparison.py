"""The page of comparisons: what a family of paired differences says, in rows, with its n, margin and size in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from cseb.analysis.paired import Family, Pair
from cseb.reports.document import Value
from cseb.reports.sheet import Line, Sheet
from cseb.statistics.intervals import LEVEL, Interval
from cseb.statistics.items import Clusters
from cseb.statistics.paired import FEWEST_JUDGED, MEANINGFUL, Comparison, Scope, exact_floor, sign_flip
from cseb.statistics.power import MOST, POWER
from cseb.text import percent, plain, quantity

SCOPES: tuple[Scope, ...] = ("seeds", "items", "seeds and items")
NONE = "--"
INTERVALS = (
    "seeds, items, seeds and items: 95 % confidence intervals of the mean difference for new seeds (Student's t), for "
    "new test items (closed form of the variance), for both. wins: seeds with a positive difference."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What a family of comparisons is about. what: such as "average of 7 tasks"; where: such as "1 % of the corpus".

    baseline: the method that every other one is compared with, "" for all pairs. known: the same for every row, for
    programs. lacking: why there are no item intervals, or "".
    """

    what: str
    where: str
    baseline: str
    known: Mapping[str, Value]
    lacking: str = ""


def effects(found: Family, about: About, notes: Sequence[str] = ()) -> Sheet:
    """Mean differences with three intervals, wins, adjusted p-values and verdicts. notes: further ones, at the end."""
    heads = (
        "method" if about.baseline else "methods",
        "difference",
        *SCOPES,
        "wins",
        "p (Holm)",
        "verdict",
        "seeds needed",
    )
    lines = [Line(cells=_effect(one, found, about), values=values(one, found, about)) for one in found.pairs]
    side = f"with {plain(about.baseline)}" if about.baseline else "of all pairs"
    return Sheet(
        name="effects",
        title=f"Comparison {side} {about.where}, {about.what}",
        heads=heads,
        lines=tuple(lines),
        notes=(*_what(found, about), *_judged(found, about), *notes),
    )


def chances(found: Family, about: About, shown: Sheet) -> Sheet | None:
    """The same differences as probabilities, and what this many seeds could have found; None below five seeds.

    shown: what `effects` makes of them.
    """
    both = list(zip(found.pairs, shown.lines, strict=True))
    both = [(one, line) for one, line in both if one.found.n >= FEWEST_JUDGED and one.found.chances() is not None]
    if not both:
        return None
    pairs = [one for one, _ in both]
    margin = f"{found.margin:g}"
    heads = (
        "method" if about.baseline else "methods",
        *(f"P(below -{margin})", f"P(within {margin})", f"P(above {margin})"),
        *("P(run above run)", "sign flips, p", "detectable"),
    )
    return Sheet(
        name="chances",
        title=f"Probabilities {about.where}, {about.what}",
        heads=heads,
        lines=tuple(_chance(one, found, about, line.values) for one, line in both),
        notes=(
            f"P: posterior probability of the true difference (reference prior), for {_scopes(pairs)}; margin "
            f"{quantity(found.margin, 'point')}.",
            f"P(run above run): probability of outperforming, over all pairs of runs; from {MEANINGFUL:g} on "
            "Bouthillier et al. "
            "2021 call a difference meaningful.",
            "sign flips: exact two-sided permutation test over seeds alone, not corrected for multiple comparisons.",
            f"detectable: smallest true difference with {percent(POWER)} power at significance level {LEVEL:g}, "
            "uncorrected.",
        ),
    )


def values(one: Pair, found: Family, about: About) -> dict[str, Value]:
    """Everything there is to know of one comparison, by name."""
    comparison = one.found
    low, within, high = comparison.chances(found.margin) or (None, None, None)
    known: dict[str, Value] = {**about.known, "a": one.a, "b": one.b, "n": comparison.n, "seeds": _listed(one.seeds)}
    known |= {
        "mean": comparison.mean,
        "differences": " ".join(f"{value!r}" for value in comparison.differences.tolist()),
    }
    known |= ends_by_name(comparison)
    known |= {
        "wins": comparison.wins,
        "scope": comparison.scope,
        "p": comparison.p,
        "p_adjusted": one.adjusted,
        "tests": found.tests,
    }
    known |= {"margin": found.margin, "verdict": one.verdict, "to_settle": settle(one, found)}
    known |= {"p_below": low, "p_within": within, "p_above": high, "p_run_above_run": comparison.fraction_of_pairs}
    return known | {"p_sign_flip": sign_flip(comparison.differences), "detectable": comparison.design.detectable()}


@lru_cache(maxsize=2**16)  # asked for by the line, by its values and by the notes
def settle(one: Pair, found: Family) -> str:
    """How many seeds would find an effect of the observed size, or why none would; -- where none is needed."""
    effect, design = abs(one.found.mean), one.found.design
    if one.verdict not in ("inconclusive", "too few seeds") or not one.found.moves:
        return NONE
    if design.too_small(effect, found.level):
        return "more items"
    seeds = design.seeds_for(effect, found.level) if effect else None
    return f"more than {MOST:,} seeds" if seeds is None else f"about {max(seeds, FEWEST_JUDGED)} seeds"


def verdict(one: Pair, margin: float) -> str:
    """The verdict in words, with what it holds for."""
    comparison = one.found
    if one.verdict == "identical":
        return f"identical in all {comparison.n} seeds"
    if one.verdict == "too few seeds":
        return f"n = {comparison.n}, {_unjudged(comparison)}"
    near = comparison.interval(comparison.scope, 2 * LEVEL) if comparison.scope else None
    small = one.verdict in ("better", "worse") and near is not None and near.inside(-margin, margin)
    extent = f", by less than {margin:g}" if small else ""
    whose = "items; these checkpoints" if comparison.scope == "items" else comparison.scope
    return f"{one.verdict}{extent} ({whose})"


def _unjudged(comparison: Comparison) -> str:
    """What there is in place of a verdict."""
    if comparison.fixed:
        return "the same difference in every seed, no test"
    return "intervals only" if any(comparison.interval(scope) for scope in SCOPES) else "no interval"


def span(reach: Interval | None) -> str:
    """`-0.31 to 1.20`."""
    return NONE if reach is None else f"{reach.low:.2f} to {reach.high:.2f}"


def ends(reach: Interval | None) -> tuple[float | None, float | None]:
    """Both ends, for programs."""
    return (None, None) if reach is None else (reach.low, reach.high)


def ends_by_name(comparison: Comparison) -> dict[str, Value]:
    """Both ends of the interval of every scope, for programs."""
    found: dict[str, Value] = {}
    for scope in SCOPES:
        name = scope.replace(" ", "_")
        found |= dict(zip((f"{name}_low", f"{name}_high"), ends(comparison.interval(scope)), strict=True))
    return found


def probability(value: float | None) -> str:
    """Three digits; what is smaller is said to be smaller."""
    return NONE if value is None else "< 0.001" if value < 0.001 else f"{value:.3f}"


def clusters_in_words(held: Mapping[str, Clusters], tasks: Sequence[str]) -> Iterator[str]:
    """How many independent items each task has, and where clusters are too large to be kept together."""
    used = {task: held[task] for task in tasks if task in held}
    if together := [
        f"{_bare(task)} {one.count:,} of {len(one.labels):,} (largest {percent(one.largest)})"
        for task, one in used.items()
        if one.used and one.count < len(one.labels)
    ]:
        yield (
            "Test items that depend on one another (pairs with a sentence in common, queries with an answer or intent "
            f"in common) are clustered; clusters: {', '.join(together)}."
        )
    for task, one in used.items():
        if not one.used:
            yield (
                f"{_bare(task)}: not clustered, as one cluster holds {percent(one.largest)} of its items; intervals "
                "may be too narrow."
            )


def name_of(one: Pair, about: About) -> str:
    """What stands in the first column."""
    return plain(one.b) if about.baseline else f"{plain(one.b)} - {plain(one.a)}"


def _effect(one: Pair, found: Family, about: About) -> tuple[str, ...]:
    comparison = one.found
    p = probability(one.adjusted) if comparison.n >= FEWEST_JUDGED else NONE
    reaches = (span(comparison.interval(scope)) for scope in SCOPES)
    wins = f"{comparison.wins}/{comparison.n}"
    return (
        name_of(one, about),
        f"{comparison.mean:+.2f}",
        *reaches,
        wins,
        p,
        verdict(one, found.margin),
        settle(one, found),
    )


def _chance(one: Pair, found: Family, about: About, known: Mapping[str, Value]) -> Line:
    comparison = one.found
    posterior = [probability(chance) for chance in comparison.chances(found.margin) or ()]
    detectable = comparison.design.detectable()
    cells = (
        name_of(one, about),
        *posterior,
        f"{comparison.fraction_of_pairs:.2f}",
        probability(sign_flip(comparison.differences)),
        NONE if detectable is None else f"{detectable:.2f}",
    )
    return Line(cells=cells, values=known)


def _what(found: Family, about: About) -> Iterator[str]:
    side = f"each method minus {plain(about.baseline)}" if about.baseline else "the first method minus the second"
    yield f"Difference in points: {side}, tasks averaged within a seed, paired by seed."
    yield INTERVALS
    if about.lacking:
        yield f"No intervals for new test items, so verdicts hold for new seeds only: {about.lacking}."


def _judged(found: Family, about: About) -> Iterator[str]:
    judged = [one for one in found.pairs if one.found.n >= FEWEST_JUDGED and one.adjusted is not None]
    seeds = sorted({one.found.n for one in found.pairs})
    if judged:
        yield (
            f"p: two-sided, for {_scopes(judged)}, n = {_listed(sorted({one.found.n for one in judged}))}, Holm over "
            f"the {quantity(found.tests, 'comparison')} {about.where}. better, worse: significant, p at most "
            f"{LEVEL:g}; equivalent: 90 % interval within the margin of {quantity(found.margin, 'point')} (TOST); "
            "inconclusive: neither."
        )
    if any(n == 1 for n in seeds):
        yield "A single seed has no interval for new seeds and no verdict."
    if any(1 < n < FEWEST_JUDGED for n in seeds):
        yield f"Fewer than {FEWEST_JUDGED} seeds: intervals and no verdict."
    if any(one.verdict == "identical" for one in found.pairs):
        yield (
            "identical: the same score in every seed, and on every test item where items are known; p = 1, counted "
            "among "
            "the comparisons. Are these two names for the same computation?"
        )
    if any(one.found.fixed for one in found.pairs):
        yield "A difference that is the same in every seed has no variance and cannot be tested; the methods do differ."
    if any(settle(one, found) != NONE for one in found.pairs):
        yield (
            f"seeds needed: to detect a true difference of the observed size with {percent(POWER)} power at "
            "significance "
            f"level {LEVEL:g} / comparisons; more items: more seeds cannot help, the test sets are too small."
        )
    if 1 < (n := seeds[0] if seeds else 0) < 6:
        yield f"With {n} seeds an exact test cannot reach p below {exact_floor(n):g}; use at least 6 seeds."


def _scopes(judged: Sequence[Pair]) -> str:
    return " or ".join(sorted({one.found.scope or "" for one in judged}))


def _listed(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))


def _bare(task: str) -> str:
    return plain(task).rpartition("@")[0] or plain(task)
