"""Correction of p-values for many comparisons, and intervals of ranks from tests of all pairs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cseb.statistics.intervals import LEVEL, Floats
from cseb.statistics.paired import FEWEST_TESTED, STILL


def holm(p: Floats) -> Floats:
    """Return adjusted p-values (m,): the chance of any false rejection at `alpha` is at most `alpha`.

    Source: Holm 1979. Valid for any dependence between the tests.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(steps)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted


def rank_intervals(scores: Floats, level: float = LEVEL) -> npt.NDArray[np.int64]:
    """Return the lowest and the highest rank of each method, (K, 2); 1 is the best.

    All pairs are tested by paired t-tests over common seeds, with Holm's correction. A rank is at least one more than
    the number of methods that are significantly better, and at most K less the number that are significantly worse.
    With probability 1 - level all intervals contain their true ranks. scores: (K, S), NaN for a missing seed.
    """
    from scipy import special

    count = len(scores)
    first, second = np.triu_indices(count, 1)
    differences = scores[first] - scores[second]
    common = np.isfinite(differences)
    n = common.sum(axis=1)
    mean = np.divide(np.where(common, differences, 0).sum(axis=1), n, out=np.zeros(len(n)), where=n > 0)
    squares = np.where(common, (differences - mean[:, None]) ** 2, 0).sum(axis=1)
    error = np.sqrt(squares / np.maximum(n - 1, 1) / np.maximum(n, 1))
    tested = (n >= FEWEST_TESTED) & (error > STILL)
    p = 2 * special.stdtr(n[tested] - 1, -np.abs(mean[tested]) / error[tested])
    significant = np.zeros(len(n), dtype=bool)
    significant[tested] = holm(p) <= level
    better = np.zeros(count, dtype=np.int64)  # methods that are significantly better
    worse = np.zeros(count, dtype=np.int64)
    for i, j, higher in zip(first[significant], second[significant], mean[significant] > 0, strict=True):
        upper, lower = (i, j) if higher else (j, i)
        better[lower] += 1
        worse[upper] += 1
    return np.stack([1 + better, count - worse], axis=1)
