"""Variance of a score over samples of test items, in closed form.

A task gives the influence of each item on its score; influences sum to zero. Items that share a sentence are clustered:
their influences are summed before they are squared. The contributions of a difference of methods, of a mean over seeds
or of an average over tasks are the difference, mean or average of contributions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
LARGEST = 0.2  # fraction of the items in one cluster above which clusters are too few and too unequal to be summed


@dataclass(frozen=True, slots=True)
class Clusters:
    """The clusters of dependent items of one task.

    labels: (N,), 0 to count - 1. largest: fraction of the items in the largest cluster. used: False if that is above
    LARGEST; then items count as independent, which reports state because intervals may be too narrow.
    """

    labels: Labels
    count: int
    largest: float
    used: bool

    @classmethod
    def of(cls, labels: Labels) -> Clusters:
        """Return the clusters of any labels (N,), N at least 1."""
        _, compact, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        largest = float(sizes.max() / len(labels))
        return cls(compact.astype(np.int64), len(sizes), largest, largest <= LARGEST)

    def contributions(self, influence: Floats) -> Floats:
        """Return what each cluster contributes to the score's deviation: (count,), or (N,) if clusters are unused.

        influence: (N,). The result is what `variance` needs.
        """
        if not self.used:
            return influence / len(influence)
        sums: Floats = np.bincount(self.labels, weights=influence, minlength=self.count) / len(influence)
        return sums


def average(contributions: Sequence[Floats]) -> Floats:
    """Return the concatenated contributions to the average of tasks, which count as independent."""
    weight = 1 / len(contributions)
    return np.concatenate([weight * part for part in contributions])


def variance(contributions: Floats) -> float:
    """Return the squared standard error of a score from contributions (G,), which sum to zero."""
    return float(contributions @ contributions) * len(contributions) / freedom(contributions)


def freedom(contributions: Floats) -> int:
    """Return the degrees of freedom of that variance. With few clusters, normal quantiles would be far too small."""
    return max(len(contributions) - 1, 1)


LEVEL = 0.05  # two-sided error rate of every interval and test unless another is named


@dataclass(frozen=True, slots=True)
class Interval:
    """The interval from `low` to `high`, in the unit of the values."""

    low: float
    high: float

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def inside(self, low: float, high: float) -> bool:
        """Return whether the interval lies strictly between `low` and `high`."""
        return low < self.low and self.high < high


def sd(values: Floats) -> float:
    """Return the sample standard deviation of (n,) values, ddof = 1; NaN below two."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def sem(values: Floats) -> float:
    """Return the standard error of the mean of (n,) values; NaN below two."""
    return sd(values) / sqrt(len(values)) if len(values) > 1 else float("nan")


@lru_cache(maxsize=4096)  # many comparisons share their degrees of freedom
def quantile(df: float, level: float = LEVEL) -> float:
    """Return the half width of an interval of Student's t, in standard errors; df may be infinite."""
    from scipy import special

    return float(-special.ndtri(level / 2) if df == inf else -special.stdtrit(df, level / 2))


def below(statistic: float, df: float) -> float:
    """Return the probability that Student's t with df degrees of freedom is below `statistic`; df may be infinite."""
    from scipy import special

    return float(special.ndtr(statistic) if df == inf else special.stdtr(df, statistic))


def around(centre: float, variance: float, df: float, level: float = LEVEL) -> Interval:
    """Return the interval of Student's t around an estimate. variance: of the estimate, not of a single value."""
    width = half_width([(variance, df)], level)
    return Interval(centre - width, centre + width)


def summed(parts: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the sum of independent variances and its degrees of freedom (Satterthwaite 1946)."""
    total = sum(variance for variance, _ in parts)
    return total, total**2 / sum(variance**2 / df for variance, df in parts)


def half_width(parts: Sequence[tuple[float, float]], level: float = LEVEL) -> float:
    """Return the half width of an interval around an estimate whose variance is the sum of independent parts.

    parts: variance and degrees of freedom of each. Several quantiles of Student's t are averaged with the variances as
    weights (Cochran & Cox, Experimental Designs, 1950).
    """
    total = sum(variance for variance, _ in parts)
    return sum(variance * quantile(df, level) for variance, df in parts) / sqrt(total) if total else 0.0


def level_of(width: float, parts: Sequence[tuple[float, float]]) -> float:
    """Return the level whose interval has this half width, which is the p-value of an estimate so far from 0."""
    present = [(variance, df) for variance, df in parts if variance > 0]
    if len(present) == 1:
        [(variance, df)] = present
        return 2 * below(-width / sqrt(variance), df)
    low, high = -700.0, 0.0  # of the level's logarithm
    for _ in range(50):  # the width falls with the level; scipy.optimize takes longer to import than this to run
        middle = (low + high) / 2
        low, high = (middle, high) if half_width(present, exp(middle)) > width else (low, middle)
    return exp(high)


def t_interval(values: Floats, level: float = LEVEL) -> Interval:
    """Return the interval for the mean of (n,) values, n at least 2; exact for normal values.

    A bootstrap is not used: with five values its 95 % interval covers the mean in 86 % of the cases.
    """
    return around(float(np.mean(values)), sem(values) ** 2, len(values) - 1, level)
