"""Intervals of ranks: known answers."""

import numpy as np

from cseb.statistics.paired import rank_intervals


def test_clear_differences_give_single_ranks() -> None:
    noise = np.array([0.1, -0.1, 0.05, -0.05, 0.0])
    scores = np.array([50 + noise, 60 - noise, 40 + noise[::-1]])
    assert rank_intervals(scores).tolist() == [[2, 2], [1, 1], [3, 3]]


def test_methods_that_do_not_differ_share_their_ranks() -> None:
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.normal(50, 1, (3, 5)), rng.normal(80, 1, (1, 5))])
    assert rank_intervals(scores).tolist() == [[2, 4], [2, 4], [2, 4], [1, 1]]


def test_too_few_common_seeds_and_equal_differences_are_not_tested() -> None:
    nan = np.nan
    few = np.array([[1.0, 2.0, nan, nan, 3.0], [nan, nan, 90.0, 91.0, 92.0]])
    assert rank_intervals(few).tolist() == [[1, 2], [1, 2]]
    untrained = np.array([[50.0] * 5, [40.0] * 5])  # one number each, for any seed
    assert rank_intervals(untrained).tolist() == [[1, 2], [1, 2]]
    assert rank_intervals(few[:1]).tolist() == [[1, 1]]


def test_all_true_ranks_are_inside_in_95_percent_of_studies() -> None:
    rng = np.random.default_rng(1)
    means = np.array([50.0, 50.5, 51.0, 52.0, 52.0])
    lowest = np.array([(means > mean).sum() + 1 for mean in means])
    highest = np.array([(means >= mean).sum() for mean in means])
    inside = 0
    for _ in range(400):
        low, high = rank_intervals(means[:, None] + rng.normal(0, 0.5, (5, 5))).T
        inside += bool(((low <= lowest) & (high >= highest)).all())
    assert inside >= 0.93 * 400
