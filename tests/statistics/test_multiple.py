"""Holm's correction for many tests."""

import numpy as np
import pytest

from cseb.statistics.paired import holm


def test_holm_by_hand() -> None:
    assert holm(np.array([0.04, 0.01, 0.03])) == pytest.approx([0.06, 0.03, 0.06])
    assert holm(np.array([0.9, 0.6])) == pytest.approx([1.0, 1.0])
    assert holm(np.array([])).shape == (0,)


def test_holm_is_that_of_statsmodels() -> None:
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    rng = np.random.default_rng(1)
    for size in (1, 3, 28):
        p = np.round(rng.random(size) ** 2, 2)  # with ties
        assert holm(p) == pytest.approx(multitest.multipletests(p, method="holm")[1])
