"""Rank intervals by resampling, and curves over sizes."""

import numpy as np
import pytest

from cseb.statistics.gain import crossings, weights
from cseb.statistics.ranks import ranking


def test_what_never_changes_places_has_one_rank() -> None:
    scores = np.array([[70.0, 71, 72], [60, 61, 62], [50, 51, 52]])
    found = ranking(scores, draws=200)
    assert found.low.tolist() == found.high.tolist() == [1, 2, 3]
    assert found.best.tolist() == [1, 0, 0]
    assert found.regret == pytest.approx([0, 10, 20])  # paired: all methods get the same seeds


def test_the_chance_to_be_best_is_that_of_the_draws() -> None:
    # Method 0 leads unless the third of three seeds is drawn twice or more: 7 of 27 draws; it loses 1 then, or 4.
    found = ranking(np.array([[1.0, 1.0, -2.0], [0.0, 0.0, 0.0]]) + 10, draws=20_000)
    exact = 7 / 27
    ties = 12 / 27  # drawn once: 1 + 1 - 2 = 0
    assert found.best[1] == pytest.approx(exact + ties / 2, abs=0.015)


def test_items_that_help_one_method_widen_its_ranks() -> None:
    scores = np.array([[70.0, 70.2, 69.8], [69.0, 69.2, 68.8]])
    rng = np.random.default_rng(0)
    share = rng.standard_normal(400) / 20  # a standard error of one point
    contributions = np.zeros((2, 3, 400))
    contributions[0] = share
    assert ranking(scores, draws=2000).best[0] == 1
    found = ranking(scores, contributions, draws=5000)
    assert found.best[0] == pytest.approx(0.84, abs=0.03)  # one standard error of the difference above zero
    both = np.broadcast_to(share, (2, 3, 400))  # what moves both alike separates nobody
    assert ranking(scores, both, draws=500).best[0] == 1


def test_the_same_results_give_the_same_ranking() -> None:
    scores = np.random.default_rng(0).standard_normal((4, 5))
    one, other = ranking(scores, draws=700), ranking(scores.copy(), draws=700)
    assert one.best.tolist() == other.best.tolist()
    assert ranking(scores + 1e-3 * np.eye(4, 5), draws=700).regret.tolist() != one.regret.tolist()


def test_weights_give_the_mean_height_over_the_logarithm_of_sizes() -> None:
    sizes = np.array([100.0, 1000.0, 100_000.0])
    assert weights(sizes) == pytest.approx([1 / 6, 1 / 2, 1 / 3])
    assert np.array([[60.0, 60.0, 60.0], [0.0, 6.0, 12.0]]) @ weights(sizes) == pytest.approx([60.0, 7.0])


def test_curves_cross_where_the_mean_difference_is_zero() -> None:
    sizes = np.array([100.0, 10_000.0])
    tight = np.array([[-1.0, 1.0], [-1.01, 1.01], [-0.99, 0.99]])
    [found] = crossings(sizes, tight)
    assert found.at == pytest.approx(1000, rel=0.001)
    assert found.low is not None
    assert found.high is not None
    assert 900 < found.low < 1000 < found.high < 1100
    [loose] = crossings(sizes, tight, items=np.full((2, 2), 0.0) + np.diag([0.01, 0.01]))
    assert loose.low is not None
    assert loose.low < found.low
    [open_end] = crossings(sizes, tight, items=np.diag([100.0, 100.0]))
    assert (open_end.low, open_end.high) == (None, None)
    assert crossings(sizes, tight + 5) == []
