"""Almost stochastic order: whether the runs of one method lie above those of another, quantile by quantile.

It looks at the two distributions and not at pairs, so that what methods share under one seed is ignored.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from cseb.statistics.intervals import LEVEL, Floats
from cseb.statistics.ranks import seeded

THRESHOLD = 0.2  # what its authors recommend; at 0.5 one in five pairs of equal methods with five seeds would pass
DRAWS = 1000


def violation(above: Floats, below: Floats) -> Floats:
    """How far `above` is from lying above `below` at every quantile: 0 it does, 1 it lies below at every one.

    above: (..., n), below: (..., m) points of single runs; returns (...). The integral of the squared difference of the
    quantile functions where it has the wrong sign, over that of all of it; exact, since both are steps. 0.5 where the
    two are the same. Source: del Barrio et al. 2018.
    """
    n, m = above.shape[-1], below.shape[-1]
    edges = np.unique(np.concatenate([np.arange(n + 1) * m, np.arange(m + 1) * n]))  # in parts of 1 / (n m)
    steps = edges[:-1]
    gaps = np.sort(above, axis=-1)[..., steps // m] - np.sort(below, axis=-1)[..., steps // n]
    squares = np.diff(edges) * gaps**2
    total = squares.sum(axis=-1)
    wrong = (squares * (gaps < 0)).sum(axis=-1)
    ratio: Floats = np.where(total > 0, wrong / np.where(total > 0, total, 1.0), 0.5)
    return ratio


def eps_min(above: Floats, below: Floats, level: float = LEVEL, draws: int = DRAWS) -> float:
    """Upper bound of the violation, for new runs: below THRESHOLD `above` is called almost stochastically larger.

    above: (n,), below: (m,). The estimate plus a one-sided normal quantile times its standard deviation over `draws`
    bootstrap samples of the same sizes, held inside 0 and 1. The generator is seeded from the numbers themselves.
    Source: Dror et al. 2019. Of two equal methods with five seeds, 4 % pass; with an effect of one sd, 43 %.
    """
    from scipy import stats

    rng = seeded(above, below)
    drawn = (one[rng.integers(0, len(one), (draws, len(one)))] for one in (above, below))
    scale = sqrt(len(above) * len(below) / (len(above) + len(below)))  # of the limit theorem
    sigma = float(np.std(scale * violation(*drawn)))
    bound = float(violation(above, below)) + float(stats.norm.isf(level)) * sigma / scale
    return min(max(bound, 0.0), 1.0)
