"""One method against another at one size, paired by seed: the effect, three intervals, a test and a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Literal

import numpy as np

from cseb.statistics.intervals import LEVEL, Floats, Interval, around, below, sd
from cseb.statistics.power import Design

Scope = Literal["seeds", "items", "seeds and items"]
Verdict = Literal["better", "worse", "equivalent", "identical", "inconclusive", "too few seeds"]
FEWEST_TESTED = 3  # seeds below which no p-value is given
FEWEST_JUDGED = 5  # seeds below which there is an interval and no verdict
MARGIN = 0.5  # points below which a difference does not matter, unless another margin is declared
MEANINGFUL = 0.75  # P(B > A) from which Bouthillier et al. 2021 call a difference meaningful
ENUMERATED = 12  # seeds up to which all sign flips are gone through
STILL = 1e-9  # points; differences that vary less than this do not vary with the seed


@dataclass(frozen=True)  # no slots: what is asked for again and again is kept
class Comparison:
    """Method B against method A.

    a, b: points (n,) of each seed, the same seeds in the same order, tasks averaged. items: variance of the difference
    of the two means over samples of test items, in points squared, or None where it is not known.

    With both parts V = s²/n + items, and t(df) with df = V² / ((s²/n)² / (n-1)), Satterthwaite's approximation with
    an item part that is known. The seed-by-item interaction is counted in both, so that V is rather too large.

    Few seeds agree by luck now and then; s² is then far too small and df far too large. Intervals for both would cover
    as little as 87 % (two seeds), 92 % (three) and 93.7 % (four; five: 94.2 %), so below FEWEST_JUDGED seeds they are
    at least as wide as those for seeds alone, and p is at least as large.
    """

    a: Floats
    b: Floats
    items: float | None = None

    @cached_property
    def differences(self) -> Floats:
        """B less A, (n,)."""
        return self.b - self.a

    @property
    def n(self) -> int:
        """Seeds that both methods have."""
        return len(self.a)

    @cached_property
    def mean(self) -> float:
        """Mean difference in points."""
        return float(self.differences.mean())

    @cached_property
    def sd(self) -> float:
        """Sample standard deviation of the differences; NaN below two seeds."""
        return sd(self.differences)

    @cached_property
    def moves(self) -> bool:
        """Whether the difference varies with the seed: that of two encoders that are not trained does not."""
        return self.n > 1 and float(np.ptp(self.differences)) > STILL

    @property
    def identical(self) -> bool:
        """Whether B has the points of A at every one of several seeds, and the same items where they are known."""
        return self.n > 1 and float(np.abs(self.differences).max()) <= STILL and not self.items

    @property
    def scope(self) -> Scope | None:
        """What a verdict may be about: all that is known to vary, or to be the same in all. None if nothing is."""
        if self.identical:
            return "seeds" if self.items is None else "seeds and items"
        if self.items is None:
            return "seeds" if self.moves else None
        return "seeds and items" if self.moves else "items"

    @property
    def fixed(self) -> bool:
        """Whether the difference is the same for every seed, no item is known to vary, and there is one."""
        return self.scope is None and self.n > 1 and abs(self.mean) > STILL

    @property
    def wins(self) -> int:
        """Seeds at which B has more points than A."""
        return int((self.differences > 0).sum())

    @property
    def fraction_of_pairs(self) -> float:
        """P(B > A) over all pairs of a run of B and a run of A, ties counted half (Bouthillier et al. 2021)."""
        gaps = self.b[:, None] - self.a[None, :]
        return float(((np.sign(gaps) + 1) / 2).mean())

    def variance(self, scope: Scope) -> float:
        """Of the mean difference, as far as `scope` makes it vary, in points squared."""
        seeds = self.sd**2 / self.n if scope != "items" else 0.0
        return seeds + ((self.items or 0.0) if scope != "seeds" else 0.0)

    def df(self, scope: Scope) -> float:
        """Degrees of freedom that go with the variance; infinite where items alone vary."""
        if scope == "items":
            return inf
        seeds = self.variance("seeds")
        return (self.n - 1) * (self.variance(scope) / seeds) ** 2

    def interval(self, scope: Scope, level: float = LEVEL) -> Interval | None:
        """Where the difference may lie if what `scope` names is drawn again, or None if that is not known.

        Of identical methods it is nothing but 0: they differ in no seed and no item.
        """
        if self.identical and (scope == "seeds" or self.items is not None):
            return Interval(0.0, 0.0)
        if (scope != "items" and not self.moves) or (scope != "seeds" and self.items is None):
            return None
        reaches = (around(self.mean, self.variance(one), self.df(one), level) for one in self._to_hold_for(scope))
        return max(reaches, key=lambda reach: reach.high)  # all have the same centre

    @property
    def p(self) -> float | None:
        """Two-sided p-value of no difference, for `scope`; None below FEWEST_TESTED seeds or if nothing varies.

        1 for identical methods, which were compared like the others and count in their family.
        """
        if self.scope is None or self.n < FEWEST_TESTED:
            return None
        if self.identical:
            return 1.0
        if self.variance(self.scope) == 0:
            return 1.0 if abs(self.mean) <= STILL else 0.0
        return max(
            2 * below(-abs(self.mean) / sqrt(self.variance(one)), self.df(one)) for one in self._to_hold_for(self.scope)
        )

    def _to_hold_for(self, scope: Scope) -> tuple[Scope, ...]:
        """With few seeds a claim about seeds and items must hold for seeds alone too; see the class."""
        return ("seeds", scope) if scope == "seeds and items" and self.n < FEWEST_JUDGED else (scope,)

    def chances(self, margin: float = MARGIN) -> tuple[float, float, float] | None:
        """Posterior probabilities that the difference is below -margin, within it, above it; None without a spread.

        Under the reference prior the posterior is the same t distribution that the interval comes from.
        """
        if self.scope is None or (variance := self.variance(self.scope)) == 0:
            return None
        df, scale = self.df(self.scope), sqrt(variance)
        low, high = below((-margin - self.mean) / scale, df), below((self.mean - margin) / scale, df)
        return low, 1 - low - high, high

    def verdict(self, adjusted: float | None, margin: float = MARGIN, level: float = LEVEL) -> Verdict:
        """In a word. adjusted: the p-value, corrected for the family it belongs to; margin: declared beforehand.

        Identical is what the seeds at hand are, however few; the others are judgements, which take FEWEST_JUDGED.
        Equivalent: two one-sided tests, which is a 1 - 2 level interval inside the margin.
        """
        if self.identical:
            return "identical"
        if adjusted is None or self.scope is None or self.n < FEWEST_JUDGED:
            return "too few seeds"
        if adjusted <= level:
            return "better" if self.mean > 0 else "worse"
        near = self.interval(self.scope, 2 * level)
        return "equivalent" if near is not None and near.inside(-margin, margin) else "inconclusive"

    @property
    def design(self) -> Design:
        """What this study can find, and what a longer one could."""
        return Design(self.n, self.sd if self.moves else 0.0, self.items or 0.0)


def sign_flip(differences: Floats) -> float | None:
    """Exact two-sided p-value that (n,) differences are symmetric about zero; None above ENUMERATED.

    All 2^n ways to flip signs are gone through; the statistic is the mean.
    """
    n = len(differences)
    if n > ENUMERATED:
        return None
    signs = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1)
    sums, found = np.abs(signs @ differences), abs(float(differences.sum()))
    return float((sums >= found - 1e-9 * np.abs(differences).sum()).mean())


def exact_floor(n: int) -> float:
    """The smallest two-sided p-value that any exact paired rank or sign test can give with n seeds."""
    return min(1.0, 2.0 ** (1 - n))
