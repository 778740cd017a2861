"""Spreads and intervals of a few numbers, against scipy and by hand."""

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.items import Interval, around, quantile, sd, sem, t_interval

VALUES = np.array([70.0, 71.0, 73.0, 74.0, 72.0])


def test_student_interval_is_that_of_scipy() -> None:
    expected = stats.ttest_1samp(VALUES, 0.0).confidence_interval(0.95)
    result = t_interval(VALUES)
    assert (result.low, result.high) == pytest.approx((expected.low, expected.high))
    assert 72.0 in result
    assert 74.0 not in result


def test_spreads_by_hand() -> None:
    assert sd(VALUES) == pytest.approx(np.sqrt(2.5))  # squares 4 + 1 + 1 + 4 + 0 over 4
    assert sem(VALUES) == pytest.approx(np.sqrt(0.5))
    assert np.isnan(sd(VALUES[:1]))
    assert np.isnan(sem(VALUES[:1]))


def test_an_infinite_df_is_the_normal_distribution() -> None:
    assert quantile(np.inf) == pytest.approx(1.959964, abs=1e-6)
    assert quantile(4) == pytest.approx(2.776445, abs=1e-6)
    assert around(1.0, 4.0, np.inf, 0.1).high == pytest.approx(1 + 2 * 1.644854, abs=1e-5)
    assert around(1.0, 4.0, 5).inside(-10, 10)
    assert not around(1.0, 4.0, 5).inside(-10, 2)
    assert t_interval(np.full(3, 7.0)) == around(7.0, 0.0, 5) == Interval(7.0, 7.0)
