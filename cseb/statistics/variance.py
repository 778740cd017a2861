"""Where the spread between runs comes from: standard deviations with one stream of random numbers varied at a time."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np

from cseb.statistics.intervals import LEVEL, Floats, Interval, quantile, sd


@dataclass(frozen=True, slots=True)
class Part:
    """One source of variance. sd: in points over n runs, with its exact interval for normal values.

    fraction: of variance, its own over that of runs in which everything varies, with an exact interval, or
    None if there are none.
    These need not add to one: what is left over, or missing, is how the sources interact.
    """

    n: int
    sd: float
    reach: Interval
    fraction: float | None = None
    fraction_reach: Interval | None = None


def part(values: Floats, whole: tuple[Floats, Floats] | None = None) -> Part:
    """From points (n,) of runs in which one stream varies, n at least 2.

    whole: points (m,) of both kinds of run at the m seeds they have in common: with this stream varied, with all. The
    two kinds draw the same numbers from this stream at the same seed, so their ratio is that of paired samples.
    """
    fraction = reach = None
    if whole is not None and len(whole[0]) > 2 and min(map(np.ptp, whole)) > 0:
        fraction, reach = sd(whole[0]) ** 2 / sd(whole[1]) ** 2, paired_ratio(*whole)
    return Part(len(values), sd(values), sd_interval(values), fraction, reach)


def sd_interval(values: Floats, level: float = LEVEL) -> Interval:
    """Where the standard deviation of the (n,) normal values may lie, exactly: (n-1) s² / sigma² is chi-squared."""
    from scipy import stats

    df = len(values) - 1
    high, low = (float(stats.chi2.isf(tail, df)) for tail in (level / 2, 1 - level / 2))
    return Interval(sd(values) * sqrt(df / high), sd(values) * sqrt(df / low))


def ratio(values: Floats, others: Floats, level: float = LEVEL) -> Interval:
    """Where the ratio of two variances may lie, exactly, for independent normal samples (n,) and (m,)."""
    from scipy import stats

    found = sd(values) ** 2 / sd(others) ** 2
    freedom = len(values) - 1, len(others) - 1
    high, low = (float(stats.f.isf(tail, *freedom)) for tail in (level / 2, 1 - level / 2))
    return Interval(found / high, found / low)


def paired_ratio(values: Floats, others: Floats, level: float = LEVEL) -> Interval:
    """The same for pairs of normal values, both (n,), n at least 3, whatever their correlation.

    Source: Pitman 1939 and Morgan 1939: the variances are equal if sum and difference are not correlated.
    """
    n = len(values)
    r = float(np.corrcoef(values, others)[0, 1])
    half = 1 + 2 * (1 - r * r) * quantile(n - 2, level) ** 2 / (n - 2)
    found, reach = sd(values) ** 2 / sd(others) ** 2, sqrt(half * half - 1)
    return Interval(found * (half - reach), found * (half + reach))
