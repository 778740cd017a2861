"""Items: clusters before squares, and when clusters are of no use."""

import numpy as np
import pytest

from cseb.statistics.items import Clusters, average, freedom, variance


def test_influences_are_summed_inside_clusters_before_they_are_squared() -> None:
    influence = np.array([2.0, 1.0, -3.0, 1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    stored = Clusters.of(np.array([7, 7, 3, 5, 5, 6, 8, 9, 10, 11]))
    assert (stored.count, stored.largest, stored.used) == (8, 0.2, True)
    assert stored.contributions(influence).sum() == pytest.approx(0)
    assert variance(stored.contributions(influence)) == pytest.approx((3**2 + 3**2 + 0) / 100 * 8 / 7)
    assert freedom(stored.contributions(influence)) == 7


def test_one_cluster_with_more_than_a_fifth_of_the_items_is_not_used() -> None:
    stored = Clusters.of(np.array([0, 0, 0, 1, 2, 3, 4, 5, 6, 7]))
    assert not stored.used
    influence = np.arange(10) - 4.5
    assert variance(stored.contributions(influence)) == pytest.approx(influence.var(ddof=1) / 10)


def test_variance_of_an_average_is_the_sum_over_tasks_by_their_number_squared() -> None:
    first, second = np.array([1.0, -1.0]), np.array([2.0, -1.0, -1.0])
    assert variance(average([first, second])) == pytest.approx((2 + 6) / 4 * 5 / 4)
