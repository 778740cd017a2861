"""What goes below the comparisons: groups and ranks, single tasks, and curves over the size of the training set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cseb.analysis.paired import Family, Pair, Sample
from cseb.reports.comparison import NONE, About, name_of, probability, span, values
from cseb.reports.document import Value
from cseb.reports.sheet import Line, Sheet
from cseb.statistics.gain import Crossing, crossings
from cseb.statistics.multiple import letters
from cseb.statistics.paired import FEWEST_JUDGED, FEWEST_TESTED
from cseb.statistics.ranks import DRAWS, ranking
from cseb.text import plain, quantity


def ranks(found: Sequence[Sample], pairs: Family, about: About) -> Sheet | None:
    """Methods by their mean, with groups, rank intervals, P(best) and regret.

    pairs: all pairs of `found`. Only seeds that every method has are looked at. None if there are not two methods, or
    too few seeds and no items to resample.
    """
    seeds = sorted(set.intersection(*(set(one.points) for one in found))) if found else []
    if len(found) < 2 or not seeds:
        return None
    ordered = sorted(found, key=lambda one: -float(np.mean([one.points[seed] for seed in seeds])))
    scores = np.array([[one.points[seed] for seed in seeds] for one in ordered])
    whole = all(seed in one.contributions for one in ordered for seed in seeds)
    if not whole and len(seeds) < FEWEST_TESTED:
        return None  # there is too little to resample
    contributions = np.array([[one.contributions[seed] for seed in seeds] for one in ordered]) if whole else None
    drawn = ranking(scores, contributions)
    judged = len(seeds) >= FEWEST_JUDGED
    groups = letters([one.method for one in ordered], pairs.significant)
    lines = []
    for place, one in enumerate(ordered):
        mean, low, high = float(scores[place].mean()), int(drawn.low[place]), int(drawn.high[place])
        best, regret = float(drawn.best[place]), float(drawn.regret[place])
        group = groups[one.method] if judged else NONE
        cells = (plain(one.method), f"{mean:.2f}", group, f"{low} to {high}", f"{best:.2f}", f"{regret:.2f}")
        known: dict[str, Value] = {**about.known, "method": one.method, "n": len(seeds), "mean": mean, "group": group}
        known |= {"rank_low": low, "rank_high": high, "p_best": best, "regret": regret}
        lines.append(Line(cells=cells, values=known))
    drawn_from = "seeds and clusters of items" if whole else "seeds"
    joined = (
        "group: methods with a letter in common are not significantly different (5 %, Holm over all "
        f"{quantity(pairs.tests, 'pair')})."
        if judged
        else ""
    )
    return Sheet(
        name="ranks",
        title=f"Ranks {about.where}, {about.what}",
        heads=("method", "mean", "group", "rank", "P(best)", "regret"),
        lines=tuple(lines),
        notes=tuple(
            filter(
                None,
                (
                    joined,
                    "rank: 95 % bootstrap interval; P(best): fraction of resamples in which it is first; regret: "
                    "expected "
                    f"points lost by choosing this method. Resampled: {drawn_from}, {DRAWS:,} times; with n = "
                    f"{len(seeds)} seeds intervals are somewhat too narrow.",
                ),
            )
        ),
    )


def single_tasks(families: Sequence[tuple[str, Family]], about: About) -> Sheet:
    """Every comparison on every single task, with q-values over all of them. families: of each task, uncorrected."""
    from scipy.stats import false_discovery_control

    pairs = [(task, one, found) for task, found in families for one in found.pairs]
    raw = [one.found.p if one.found.n >= FEWEST_JUDGED else None for _, one, _ in pairs]
    known = iter(false_discovery_control([p for p in raw if p is not None]).tolist())
    adjusted = [None if p is None else next(known) for p in raw]
    lines = []
    for (task, one, found), q in zip(pairs, adjusted, strict=True):
        scope = one.found.scope
        reach = span(one.found.interval(scope) if scope else None)
        cells = (
            f"{plain(task)}: {name_of(one, about)}",
            f"{one.found.mean:+.2f}",
            reach,
            scope or NONE,
            probability(q),
        )
        left_out = {"verdict", "p_adjusted", "to_settle", "tests"}
        row = {name: value for name, value in values(one, found, about).items() if name not in left_out}
        lines.append(Line(cells=cells, values={**row, "task": task, "q": q}))
    return Sheet(
        name="tasks",
        title=f"Single tasks {about.where}, exploratory",
        heads=("task: method" if about.baseline else "task: methods", "difference", "95 % interval", "for", "q"),
        lines=tuple(lines),
        notes=(
            f"q: p adjusted by Benjamini-Hochberg over {quantity(len(lines), 'comparison')} (false discovery rate); "
            "exploratory, "
            "no verdicts.",
            *(() if any(raw) else (f"Fewer than {FEWEST_JUDGED} seeds: intervals and no q.",)),
        ),
    )


def where_curves_cross(
    sizes: Sequence[int], by_size: Sequence[Family], about: About, covariance: dict[tuple[str, str], np.ndarray]
) -> list[str]:
    """A sentence for each pair of methods whose curves cross. covariance: over items, (F, F), of pairs that have it."""
    sentences = []
    named = [{(one.a, one.b): one for one in each.pairs} for each in by_size]
    for one in by_size[0].pairs:
        kept = [each[one.a, one.b] for each in named if (one.a, one.b) in each]
        seeds = set.intersection(*(set(each.seeds) for each in kept))
        if len(kept) < len(sizes) or len(seeds) < 2:
            continue
        points = np.array([[each.found.differences[each.seeds.index(seed)] for each in kept] for seed in sorted(seeds)])
        found = crossings(np.array(sizes, dtype=np.float64), points, covariance.get((one.a, one.b)))
        sentences += [_crossing(one, each) for each in found]
    return sentences


def _crossing(one: Pair, found: Crossing) -> str:
    low = "the smallest size" if found.low is None else f"{found.low:,.0f}"
    high = "the largest" if found.high is None else f"{found.high:,.0f}"
    return (
        f"The curves of {plain(one.a)} and {plain(one.b)} cross at about {found.at:,.0f} sentences "
        f"(no significant difference from {low} to {high})."
    )
