"""How many seeds it takes: what a study of n seeds can find, and when more seeds cannot help."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from math import inf, isnan, sqrt

from cseb.statistics.intervals import LEVEL, quantile

POWER = 0.8  # the chance to find an effect that a study is laid out for
MOST = 1000  # seeds that are looked at before giving up


@dataclass(frozen=True, slots=True)
class Design:
    """A paired comparison over n seeds.

    sd: of the differences between seeds, in points. items: variance of the mean difference over test items, which
    more seeds do not make smaller, in points squared.
    """

    n: int
    sd: float
    items: float = 0.0

    @property
    def variance(self) -> float:
        """Of the mean difference."""
        return self.sd**2 / self.n + self.items

    @property
    def df(self) -> float:
        """As in `Comparison`."""
        if self.sd == 0:
            return inf
        return (self.n - 1) * (self.variance / (self.sd**2 / self.n)) ** 2 if self.n > 1 else 0.0

    def power(self, effect: float, level: float = LEVEL) -> float:
        """Chance of a two-sided p below `level` if the true difference is `effect` points."""
        if self.df == 0 or self.variance == 0:
            return 0.0
        return _beyond(effect / sqrt(self.variance), self.df, level)

    def detectable(self, level: float = LEVEL, power: float = POWER) -> float | None:
        """The smallest true difference in points found with this power; None with a single seed."""
        return None if self.df == 0 else _shift(self.df, level, power) * sqrt(self.variance)

    def seeds_for(self, effect: float, level: float = LEVEL, power: float = POWER) -> int | None:
        """The fewest seeds that find a true difference of `effect` with this power; None above MOST."""
        low, high = 1, MOST
        if replace(self, n=high).power(effect, level) < power:
            return None
        while high - low > 1:  # power rises with the number of seeds
            middle = (low + high) // 2
            low, high = (low, middle) if replace(self, n=middle).power(effect, level) >= power else (middle, high)
        return high

    def too_small(self, effect: float, level: float = LEVEL, power: float = POWER) -> bool:
        """Whether no number of seeds could find `effect`, for want of test items: the benchmark is too small."""
        return self.items > 0 and replace(self, sd=0.0).power(effect, level) < power


def _beyond(shift: float, df: float, level: float) -> float:
    """Chance that a t statistic whose centre is moved by `shift` standard errors lies beyond the critical values."""
    from scipy import special

    reach = quantile(df, level)
    if df == inf:
        return float(special.ndtr(shift - reach) + special.ndtr(-reach - shift))
    above, below = (float(special.nctdtr(df, side, -reach)) for side in (-shift, shift))
    if isnan(above):  # scipy gives up where the centre is many standard errors off
        above = float(shift > reach)
    return above + (0.0 if isnan(below) else below)


@lru_cache(maxsize=4096)  # comparisons of as many seeds share it
def _shift(df: float, level: float, power: float) -> float:
    """By how many standard errors the centre of a t statistic must be off to be found with this power."""
    reach = quantile(df, level)  # the shift is above it, and not far: five times as much for two seeds
    low, high = reach / 2, 10 * reach
    for _ in range(60):  # power rises with the shift; scipy.optimize takes longer to import than this to run
        middle = (low + high) / 2
        low, high = (low, middle) if _beyond(middle, df, level) >= power else (middle, high)
    return high
