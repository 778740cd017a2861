"""Standard deviations, and intervals of Student's t for the mean of a few values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import inf, sqrt

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
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
    half_width = quantile(df, level) * sqrt(variance)
    return Interval(centre - half_width, centre + half_width)


def t_interval(values: Floats, level: float = LEVEL) -> Interval:
    """Return the interval for the mean of (n,) values, n at least 2; exact for normal values.

    A bootstrap is not used: with five values its 95 % interval covers the mean in 86 % of the cases.
    """
    return around(float(np.mean(values)), sem(values) ** 2, len(values) - 1, level)
