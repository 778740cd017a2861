"""Agreement with published numbers."""

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.published import one_run, several_runs

VALUES = np.array([70.0, 71.0, 73.0, 74.0, 72.0])


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
