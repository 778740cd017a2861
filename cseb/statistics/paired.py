"""Comparison of two methods, paired by seed or not: intervals, p-values (Holm), conclusion and power; ranks of all."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from math import inf, isnan, sqrt
from typing import Literal

import numpy as np

from cseb.statistics.items import LEVEL, Floats, Interval, half_width, level_of, quantile, sd, summed

POWER = 0.8  # the default probability to detect an effect
MOST = 1000  # the largest number of seeds considered


@dataclass(frozen=True, slots=True)
class Design:
    """A paired comparison over n seeds.

    sd: standard deviation of the differences over seeds. items: variance of the mean difference over test items, which
    more seeds do not reduce. df: degrees of freedom of `items`.
    """

    n: int
    sd: float
    items: float = 0.0
    df: float = inf

    @property
    def tests(self) -> list[tuple[float, float]]:
        """Return variance and degrees of freedom of each test that must reject, as in `Comparison`."""
        if self.sd == 0:
            return [(self.items, self.df)] if self.items else []
        if self.n < 2:
            return []
        seeds = self.sd**2 / self.n
        return [(seeds, self.n - 1), summed([(seeds, self.n - 1), (self.items, self.df)])]

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


Scope = Literal["seeds", "items", "seeds and items"]
Conclusion = Literal["better", "worse", "equivalent", "identical", "inconclusive", "too few seeds"]
FEWEST_TESTED = 3  # fewest seeds for a p-value
FEWEST_JUDGED = 5  # fewest seeds for a conclusion
MARGIN = 0.5  # default margin of equivalence, in score units
STILL = 1e-9  # differences that vary by less do not depend on the seed


@dataclass(frozen=True)  # no slots: cached properties need a __dict__
class Comparison:
    """Method B compared with method A.

    a: scores (n_a,) by seed, tasks averaged. b: scores (n_b,), of the same seeds if `paired`. items: variance of the
    difference of the two means over samples of test items, None if unknown. df: its degrees of freedom, clusters of
    items less one. paired: whether scores of the same seed are subtracted; otherwise the means of all seeds are, which
    a baseline with more seeds can use.

    The variance of the mean difference over seeds is S = s²/n with n - 1 degrees of freedom, s being the standard
    deviation of the differences. Over seeds and items it is V = S + items, with V² / (S² / (n - 1) + items² / df)
    degrees of freedom (Satterthwaite). Both parts contain the seed-by-item interaction, so that V is slightly too
    large.

    Unpaired, S = s_a²/n_a + s_b²/n_b, and the quantile of an interval or test is the mean of those of each part, which
    has n_a - 1, n_b - 1 or df degrees of freedom, weighted with the variance of the part (Cochran & Cox 1950).
    Welch's degrees of freedom are too many in the tails: with 20 seeds of a baseline and 5 of each of 22 methods like
    it, Holm's correction would then find a difference in 10 % of all studies, and here in 2 %.

    With few seeds S can be far too small by chance: intervals over both alone would cover 87 % (two seeds), 92 %
    (three) and 94.2 % (five). They are therefore at least as wide as those over seeds, and p is at least as large.
    """

    a: Floats
    b: Floats
    items: float | None = None
    df: float = inf
    paired: bool = True

    @cached_property
    def differences(self) -> Floats:
        """Return B less A by seed, (n,); empty if they are not paired."""
        return self.b - self.a if self.paired else np.zeros(0)

    @property
    def n(self) -> int:
        """Return the number of seeds, the smaller one if they are not paired."""
        return min(len(self.a), len(self.b))

    @cached_property
    def mean(self) -> float:
        """Return the mean difference."""
        return float(self.differences.mean() if self.paired else self.b.mean() - self.a.mean())

    @cached_property
    def sd(self) -> float:
        """Return the standard deviation of the difference of one seed: sqrt(n S); NaN below two seeds."""
        if self.paired or self.n < 2:
            return sd(self.differences)
        return sqrt(self.n * (sd(self.a) ** 2 / len(self.a) + sd(self.b) ** 2 / len(self.b)))

    @cached_property
    def varies(self) -> bool:
        """Return whether the difference varies with the seed; that of two untrained encoders does not."""
        values = (self.differences,) if self.paired else (self.a, self.b)
        return self.n > 1 and max(float(np.ptp(each)) for each in values) > STILL

    @property
    def identical(self) -> bool:
        """Return whether B has the scores of A at all of several seeds, and the same items where these are known."""
        return self.paired and self.n > 1 and float(np.abs(self.differences).max()) <= STILL and not self.items

    @property
    def scope(self) -> Scope | None:
        """Return the sources of variation that a conclusion covers; None if neither is known."""
        if self.identical:
            return "seeds" if self.items is None else "seeds and items"
        if self.items is None:
            return "seeds" if self.varies else None
        return "seeds and items" if self.varies else "items"

    @property
    def fixed(self) -> bool:
        """Return whether there is a difference, equal at all seeds, and the variance over items is unknown."""
        return self.scope is None and self.n > 1 and abs(self.mean) > STILL

    @property
    def wins(self) -> int | None:
        """Return the number of seeds at which B scores higher than A; None if they are not paired."""
        return int((self.differences > 0).sum()) if self.paired else None

    def variance(self, scope: Scope) -> float:
        """Return the variance of the mean difference over `scope`."""
        seeds = self.sd**2 / self.n if scope != "items" else 0.0
        return seeds + ((self.items or 0.0) if scope != "seeds" else 0.0)

    def parts(self, scope: Scope) -> list[tuple[float, float]]:
        """Return variance and degrees of freedom of each part of the mean difference's variance over `scope`."""
        items = self.items or 0.0
        if scope == "items":
            return [(items, self.df)]
        if self.paired:
            seeds = (self.variance("seeds"), float(self.n - 1))
            return [seeds if scope == "seeds" else summed([seeds, (items, self.df)])]
        parts = [(sd(values) ** 2 / len(values), float(len(values) - 1)) for values in (self.a, self.b)]
        return [*parts, (items, self.df)] if scope == "seeds and items" else parts

    def interval(self, scope: Scope, level: float = LEVEL) -> Interval | None:
        """Return the interval of the difference over `scope`, [0, 0] of identical methods; None if unknown."""
        if self.identical and (scope == "seeds" or self.items is not None):
            return Interval(0.0, 0.0)
        if (scope != "items" and not self.varies) or (scope != "seeds" and self.items is None):
            return None
        width = max(half_width(self.parts(each), level) for each in self._scopes(scope))
        return Interval(self.mean - width, self.mean + width)

    @property
    def p(self) -> float | None:
        """Return the two-sided p-value of no difference; None below FEWEST_TESTED seeds or without a scope.

        Identical methods have 1 and count in their family of comparisons.
        """
        if self.scope is None or self.n < FEWEST_TESTED:
            return None
        if self.identical:
            return 1.0
        if self.variance(self.scope) == 0:
            return 1.0 if abs(self.mean) <= STILL else 0.0
        return max(level_of(abs(self.mean), self.parts(each)) for each in self._scopes(self.scope))

    def _scopes(self, scope: Scope) -> tuple[Scope, ...]:
        """Return the scopes that a claim must hold for; one for seeds and items must hold for seeds, too."""
        return ("seeds", scope) if scope == "seeds and items" else (scope,)

    def conclusion(self, adjusted: float | None, margin: float = MARGIN, level: float = LEVEL) -> Conclusion:
        """Return the conclusion in a word; all but "identical" take FEWEST_JUDGED seeds.

        Methods are equivalent if the 1 - 2 level interval is inside the margin (two one-sided tests). adjusted: the
        p-value, corrected for its family of comparisons. margin: the largest difference that does not matter, declared
        beforehand.
        """
        if self.identical:
            return "identical"
        if adjusted is None or self.scope is None or self.n < FEWEST_JUDGED:
            return "too few seeds"
        if adjusted <= level:
            return "better" if self.mean > 0 else "worse"
        interval = self.interval(self.scope, 2 * level)
        return "equivalent" if interval is not None and interval.inside(-margin, margin) else "inconclusive"

    @property
    def design(self) -> Design:
        """Return the design of this study, for its power."""
        return Design(self.n, self.sd if self.varies else 0.0, self.items or 0.0, self.df)


def exact_floor(n: int) -> float:
    """Return the smallest two-sided p-value of an exact paired rank or sign test with n seeds."""
    return min(1.0, 2.0 ** (1 - n))


def holm(p: Floats) -> Floats:
    """Return adjusted p-values (m,): the chance of any false rejection at `alpha` is at most `alpha`.

    Source: Holm 1979. Valid for any dependence between the tests.
    """
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(steps)
    adjusted[order] = np.minimum(steps, 1.0)
    return adjusted
