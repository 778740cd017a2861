"""Methods over many independent blocks, such as corpora that were each trained on: ranks, tests and probabilities.

Blocks must be separate training runs. Tasks of one run move together: with seven of them as blocks, Friedman's test
rejects four equal methods in 41 % of studies where they share a third of their variance, in 85 % where they share 0.7.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from cseb.statistics.intervals import LEVEL, Floats
from cseb.statistics.multiple import holm
from cseb.statistics.paired import MARGIN
from cseb.statistics.ranks import seeded

FEWEST_BLOCKS = 8
DRAWS = 20_000
PRIOR = 0.5  # weight of the prior, which sits inside the region of equivalence; an observation weighs 1


def mean_ranks(scores: Floats) -> Floats:
    """Over the blocks, (K,), 1 the best; ties share their ranks. scores: (K, N) points by method and block."""
    from scipy import stats

    ranks: Floats = stats.rankdata(-scores, axis=0).mean(axis=1)
    return ranks


def friedman(scores: Floats) -> float:
    """p-value that K methods, at least 3, rank alike in (K, N) scores. Source: Friedman 1937, as in Demsar 2006."""
    from scipy import stats

    if not np.ptp(scores, axis=0).any():
        return 1.0
    return float(stats.friedmanchisquare(*scores).pvalue)


def significant_pairs(scores: Floats, level: float = LEVEL) -> frozenset[frozenset[int]]:
    """Pairs of methods, by their places in (K, N) scores, that differ significantly.

    Friedman's test for all, then Wilcoxon's signed-rank test for each pair with Holm's correction over all of them,
    which does not depend on what other methods are there as mean ranks do. Source: Benavoli et al. 2016.
    """
    if len(scores) > 2 and friedman(scores) > level:
        return frozenset()
    pairs = list(combinations(range(len(scores)), 2))
    adjusted = holm(np.array([wilcoxon(scores[b] - scores[a]) for a, b in pairs]))
    return frozenset(frozenset(pair) for pair, p in zip(pairs, adjusted, strict=True) if p <= level)


def wilcoxon(differences: Floats) -> float:
    """Two-sided p-value that (N,) differences are symmetric about zero; zeros are dropped. Source: Wilcoxon 1945."""
    from scipy import stats

    return float(stats.wilcoxon(differences).pvalue) if differences.any() else 1.0


def signed_rank_chances(differences: Floats, margin: float = MARGIN, draws: int = DRAWS) -> tuple[float, float, float]:
    """Posterior chances that the median of averages of two blocks is below -margin, within the margin, above it.

    differences: (N,) points. Blocks get weights from a Dirichlet distribution, with one more observation of zero and of
    weight PRIOR; in each draw the part of the pairs of blocks with the largest weight counts. The generator is seeded
    from the numbers. Source: Benavoli et al. 2014, with the region of equivalence of Benavoli et al. 2017.
    """
    observed = np.concatenate([[0.0], differences])
    sums = observed[:, None] + observed
    weights = seeded(differences).dirichlet([PRIOR, *np.ones(len(differences))], draws)
    low, high = (((weights @ part) * weights).sum(axis=1) for part in (sums < -2 * margin, sums > 2 * margin))
    largest = np.argmax([low, 1 - low - high, high], axis=0)
    below, within, above = np.bincount(largest, minlength=3) / draws
    return float(below), float(within), float(above)
