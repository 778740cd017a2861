"""Parts of the spread, and agreement with published numbers: known intervals and their coverage."""

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.published import one_run, several_runs
from cseb.statistics.variance import paired_ratio, part, ratio, sd_interval

VALUES = np.array([70.0, 71.0, 73.0, 74.0, 72.0])


def test_interval_of_a_standard_deviation() -> None:
    found = sd_interval(VALUES)  # chi-squared with 4 df: 0.4844 and 11.1433
    assert (found.low, found.high) == pytest.approx((np.sqrt(10 / 11.1433), np.sqrt(10 / 0.4844)), rel=1e-4)


def test_interval_of_a_ratio_turns_the_test_of_equal_variances_around() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal(8), 2 * rng.standard_normal(6)
    found = ratio(a, b)
    for bound, tail in ((found.low, stats.f.sf), (found.high, stats.f.cdf)):
        assert tail(a.var(ddof=1) / b.var(ddof=1) / bound, 7, 5) == pytest.approx(0.025)


def test_paired_ratio_turns_the_test_of_pitman_and_morgan_around() -> None:
    """At either end of the interval, sum and difference of the scaled values are correlated with p = 0.05."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal(7)
    y = x + rng.standard_normal(7)
    found = paired_ratio(x, y)
    for bound in (found.low, found.high):
        scaled = np.sqrt(bound) * y
        assert stats.pearsonr(x + scaled, x - scaled).pvalue == pytest.approx(0.05)


def test_ratio_of_streams_that_share_their_draws_is_covered() -> None:
    """The part of one source in three equal ones is a third; both kinds of run draw it from the same seeds."""
    rng = np.random.default_rng(3)
    draws = rng.standard_normal((2000, 3, 5))
    alone, every = draws[:, 0] + 7, draws.sum(axis=1)
    paired = np.mean([1 / 3 in paired_ratio(x, y) for x, y in zip(alone, every, strict=True)])
    apart = np.mean([1 / 3 in ratio(x, y) for x, y in zip(alone, every, strict=True)])
    assert paired == pytest.approx(0.95, abs=0.015)
    assert apart > 0.965  # the F interval is that of independent runs: too wide here


def test_a_part_says_what_share_it_has() -> None:
    found = part(VALUES, (VALUES, 2 * VALUES + np.array([0, 1.0, 0, 0, 0])))
    assert found.n == 5
    assert found.fraction == pytest.approx(VALUES.var(ddof=1) / (2 * VALUES + np.array([0, 1.0, 0, 0, 0])).var(ddof=1))
    assert part(VALUES).fraction is None
    assert part(VALUES, (VALUES[:2], VALUES[:2] + 1)).fraction is None  # two seeds say nothing of a ratio
    assert part(VALUES, (VALUES, np.full(5, 3.0))).fraction is None


def test_one_published_run_against_ours() -> None:
    found = one_run(VALUES, 70.0)
    assert found.gap == 2.0
    reach = stats.t.isf(0.025, 4) * np.sqrt(2.5 * 1.2)
    assert found.interval.high == pytest.approx(reach) == pytest.approx(-found.interval.low)
    assert found.consistent
    assert not one_run(VALUES, 72 - reach - 0.01).consistent


def test_published_mean_and_spread_against_ours_is_welch() -> None:
    theirs = np.array([75.0, 75.5, 74.0, 76.0])
    found = several_runs(VALUES, theirs.mean(), theirs.std(ddof=1), 4)
    expected = stats.ttest_ind(VALUES, theirs, equal_var=False)
    reach = expected.confidence_interval(0.95)
    assert found.gap - found.interval.high == pytest.approx(reach.low)
    assert found.consistent == (expected.pvalue > 0.05)
