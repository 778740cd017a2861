"""Power of paired comparisons: detectable differences and required numbers of seeds."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isnan, sqrt

from cseb.statistics.intervals import LEVEL, quantile

POWER = 0.8  # the default probability to detect an effect
MOST = 1000  # the largest number of seeds considered


@dataclass(frozen=True, slots=True)
class Design:
    """A paired comparison over n seeds.

    sd: standard deviation of the differences over seeds. items: variance of the mean difference over test items, which
    more seeds do not reduce.
    """

    n: int
    sd: float
    items: float = 0.0

    @property
    def tests(self) -> list[tuple[float, float]]:
        """Return variance and degrees of freedom of each test that must reject, as in `Comparison`."""
        if self.sd == 0:
            return [(self.items, inf)] if self.items else []
        if self.n < 2:
            return []
        seeds = self.sd**2 / self.n
        total = seeds + self.items
        return [(seeds, self.n - 1), (total, (self.n - 1) * (total / seeds) ** 2)]

    def power(self, effect: float, level: float = LEVEL) -> float:
        """Return the probability of a two-sided p below `level` if the true difference is `effect`, at most."""
        return min((_beyond(effect / sqrt(variance), df, level) for variance, df in self.tests), default=0.0)

    def detectable(self, level: float = LEVEL, power: float = POWER) -> float | None:
        """Return the smallest true difference detected with this power; None with a single seed."""
        return max((_shift(df, level, power) * sqrt(variance) for variance, df in self.tests), default=None)

    def seeds_for(self, effect: float, level: float = LEVEL, power: float = POWER) -> int | None:
        """Return the fewest seeds that detect a true difference of `effect` with this power; None above MOST."""
        low, high = 1, MOST
        if replace(self, n=high).power(effect, level) < power:
            return None
        while high - low > 1:  # power rises with the number of seeds
            middle = (low + high) // 2
            low, high = (low, middle) if replace(self, n=middle).power(effect, level) >= power else (middle, high)
        return high

    def too_small(self, effect: float, level: float = LEVEL, power: float = POWER) -> bool:
        """Return whether the test set is too small to detect `effect` with any number of seeds."""
        return self.items > 0 and replace(self, sd=0.0).power(effect, level) < power


def _beyond(shift: float, df: float, level: float) -> float:
    """Return the probability that a t statistic shifted by `shift` standard errors exceeds the critical values."""
    from scipy import special

    critical = quantile(df, level)
    if df == inf:
        return float(special.ndtr(shift - critical) + special.ndtr(-critical - shift))
    above, below = (float(special.nctdtr(df, side, -critical)) for side in (-shift, shift))
    if isnan(above):  # scipy returns NaN for very large shifts
        above = float(shift > critical)
    return above + (0.0 if isnan(below) else below)


@lru_cache(maxsize=4096)  # comparisons with equal numbers of seeds share it
def _shift(df: float, level: float, power: float) -> float:
    """Return the shift of a t statistic, in standard errors, that is detected with this power."""
    critical = quantile(df, level)  # the shift is at most five times as large, with two seeds
    low, high = critical / 2, 10 * critical
    for _ in range(60):  # power rises with the shift; scipy.optimize takes longer to import than this to run
        middle = (low + high) / 2
        low, high = (low, middle) if _beyond(middle, df, level) >= power else (middle, high)
    return high
