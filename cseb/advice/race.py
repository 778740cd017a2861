"""A race: rounds of more and more seeds, which the worse contestants leave. Arrays in, places out.

Successive halving (Karnin et al. 2013, Jamieson & Talwalkar 2016) with a test: after each round a contestant leaves
that is significantly worse than the leader, at a level that holds over all rounds and contestants together, and of the
others the better half stays. What wins has been chosen for its score, so its score is estimated elsewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cseb.statistics.intervals import LEVEL, Floats, quantile
from cseb.statistics.items import variance

# Seeds of a contestant after each round. Of twelve contestants (simulated in benchmarks/race_simulation.py) the
# winner is worth 0.09 points less than the best, 0.06 after eight seeds of all, which takes 3.5 times as many runs.
ROUNDS = (1, 2, 4)


@dataclass(frozen=True, slots=True)
class Standing:
    """After a round. order: places of the contestants, the best first. worse, halved: those that leave, and why."""

    order: tuple[int, ...]
    worse: tuple[int, ...]
    halved: tuple[int, ...]

    @property
    def stay(self) -> tuple[int, ...]:
        """Those that go on, the best first."""
        return tuple(place for place in self.order if place not in {*self.worse, *self.halved})


def standing(scores: Floats, contributions: Sequence[Sequence[Floats]] | None, tests: int) -> Standing:
    """Who leaves after a round.

    scores: (K, S) points of K contestants under the same S seeds. contributions: of each contestant and seed those of
    the clusters of judge items (see statistics.items), or None if unknown. tests: comparisons with a leader over the
    whole race, among which the error rate is divided (Bonferroni).

    The difference of two means has the variance 2 s² / S from seeds, s² being what is left of the table of scores
    without its means by contestant and by seed, pooled over contestants with (K - 1)(S - 1) degrees of freedom, and
    that of the items, as in `statistics.paired`.
    """
    means = scores.mean(axis=1)
    count, seeds = scores.shape
    order = tuple(np.argsort(-means, kind="stable").tolist())
    leader = order[0]
    worse: list[int] = []
    if seeds > 1 and count > 1:
        left = scores - means[:, None] - scores.mean(axis=0) + scores.mean()
        df = (count - 1) * (seeds - 1)
        of_seeds = 2 * float((left**2).sum()) / df / seeds
        for place in order[1:]:
            items = 0.0
            if contributions is not None:
                gaps = [a - b for a, b in zip(contributions[leader], contributions[place], strict=True)]
                items = variance(np.mean(gaps, axis=0))
            total = of_seeds + items
            free = df * (total / of_seeds) ** 2 if of_seeds else np.inf
            if means[leader] - means[place] > quantile(free, LEVEL / max(1, tests)) * np.sqrt(total):
                worse.append(place)
    rest = [place for place in order if place not in worse]
    return Standing(order, tuple(worse), tuple(rest[max(1, (count + 1) // 2) :]))
