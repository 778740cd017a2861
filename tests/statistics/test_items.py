"""Items: clusters before squares, and when clusters are of no use."""

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.items import Clusters, average, variance
from cseb.tasks.influence import spearman_influence


def test_influences_are_summed_inside_clusters_before_they_are_squared() -> None:
    influence = np.array([2.0, 1.0, -3.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    stored = Clusters.of(np.array([7, 7, 3, 5, 5, 6, 8, 9, 10, 11]))
    assert (stored.count, stored.largest, stored.used) == (8, 0.2, True)
    assert stored.contributions(influence).sum() == pytest.approx(0)
    assert variance(stored.contributions(influence)) == pytest.approx((3**2 + 3**2 + 0) / 100)


def test_one_cluster_with_more_than_a_fifth_of_the_items_is_not_used() -> None:
    stored = Clusters.of(np.array([0, 0, 0, 1, 2, 3, 4, 5, 6, 7]))
    assert not stored.used
    influence = np.arange(10) - 4.5
    assert variance(stored.contributions(influence)) == pytest.approx((influence**2).sum() / 100)


def test_variance_of_an_average_is_the_sum_over_tasks_by_their_number_squared() -> None:
    first, second = np.array([1.0, -1.0]), np.array([2.0, -1.0, -1.0])
    assert variance(average([first, second])) == pytest.approx((2 + 6) / 4)


def test_a_difference_of_two_correlations_has_the_interval_of_zou() -> None:
    """Two encoders on the same pairs, normal data: Zou 2007 for dependent correlations with one variable in common."""
    rng = np.random.default_rng(4)
    count = 4000
    gold = rng.standard_normal(count)
    a = gold + rng.standard_normal(count)
    b = 0.7 * a + 0.7 * gold + rng.standard_normal(count)
    r_a, r_b, r_ab = (stats.spearmanr(*two).statistic for two in ((a, gold), (b, gold), (a, b)))
    # Spearman's rho of normal data: variance 1.06 / (n - 3) on the scale of Fisher's z (Fieller et al. 1957)
    reach = 1.959964 * np.sqrt(1.06 / (count - 3))
    low_a, high_a, low_b, high_b = (np.tanh(np.arctanh(r) + side) for r in (r_a, r_b) for side in (-reach, reach))
    c = ((r_ab - r_a * r_b / 2) * (1 - r_a**2 - r_b**2 - r_ab**2) + r_ab**3) / ((1 - r_a**2) * (1 - r_b**2))
    below = np.sqrt((r_b - low_b) ** 2 + (high_a - r_a) ** 2 - 2 * c * (r_b - low_b) * (high_a - r_a))
    above = np.sqrt((high_b - r_b) ** 2 + (r_a - low_a) ** 2 - 2 * c * (high_b - r_b) * (r_a - low_a))
    strata = np.zeros(count, dtype=np.int64)
    moves = [spearman_influence(each.astype(np.float32), gold, strata) / count for each in (a, b)]
    ours = 1.959964 * np.sqrt(variance(moves[1] - moves[0])) / 100
    assert ours == pytest.approx((below + above) / 2, rel=0.1)
