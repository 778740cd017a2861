"""Gains of many runs seen whole: performance profiles and interquartile means, with bands from resampled seeds.

A seed is drawn with all its tasks, because they share one training run: redrawing each task by itself would give bands
that hold the truth half as often as they promise. A bootstrap over a handful of seeds is too narrow as it is.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cseb.statistics.intervals import LEVEL, Floats, Interval
from cseb.statistics.ranks import seeded

DRAWS = 2000
QUARTER = 0.25  # of the seeds, rounded down, left out at either end of an interquartile mean


def fraction_above(gains: Floats, at: Floats) -> Floats:
    """Fraction (P,) of the (seed, task) pairs that gain more than each of `at` (P,). gains: (S, T) points.

    Source: Agarwal et al. 2021, section 4.
    """
    fractions: Floats = _by_seed(gains, at).mean(axis=0)
    return fractions


def band(gains: Floats, at: Floats, level: float = LEVEL, draws: int = DRAWS) -> Floats:
    """Pointwise interval of the profile, (2, P): lower and upper end, from whole seeds drawn again."""
    by_seed = _by_seed(gains, at)
    drawn = by_seed[_seeds(gains, draws)].mean(axis=1)
    ends: Floats = np.quantile(drawn, (level / 2, 1 - level / 2), axis=0)
    return ends


def iqm_of_seeds(gains: Floats, level: float = LEVEL, draws: int = DRAWS) -> tuple[float, Interval]:
    """Interquartile mean over seeds of the gains (S, T) averaged within a seed, and its interval, resampling seeds.

    It trims odd seeds. Over single (seed, task) pairs it would trim the easiest and the hardest tasks.
    """
    from scipy.stats import trim_mean

    means = gains.mean(axis=1)
    drawn = trim_mean(means[_seeds(gains, draws)], QUARTER, axis=1)
    low, high = np.quantile(drawn, (level / 2, 1 - level / 2))
    return float(trim_mean(means, QUARTER)), Interval(float(low), float(high))


def _by_seed(gains: Floats, at: Floats) -> Floats:
    """The same fraction within each seed, (S, P)."""
    fractions: Floats = (gains[:, :, None] > at).mean(axis=1)
    return fractions


def _seeds(gains: Floats, draws: int) -> npt.NDArray[np.int64]:
    """Places of seeds drawn with replacement, (draws, S)."""
    return seeded(gains).integers(0, len(gains), (draws, len(gains)))
