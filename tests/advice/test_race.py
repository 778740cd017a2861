"""Who leaves a race, on scores whose truth is known."""

import numpy as np

from cseb.advice.race import standing


def test_the_best_comes_first_and_the_lower_half_leaves() -> None:
    scores = np.array([[1.0, 6.0], [4.0, 6.0], [2.0, 4.5], [3.0, 6.9]])
    found = standing(scores, None, tests=9)
    assert found.order == (1, 3, 0, 2)
    assert found.stay == (1, 3)
    assert found.halved == (0, 2)
    assert found.worse == ()


def test_what_is_clearly_worse_leaves_as_worse() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, (4, 8))
    found = standing(np.array([50.0, 50.05, 49.98, 40.0])[:, None] + noise, None, tests=9)
    assert found.worse == (3,)
    assert len(found.stay) == 2


def test_a_shift_that_all_share_under_a_seed_is_no_spread() -> None:
    shifts = np.array([0.0, 10.0, -10.0, 5.0])
    tight = np.array([[0.0, 0.1, 0.0, 0.1], [5.0, 4.9, 5.1, 5.0]]) + shifts
    assert standing(tight, None, tests=1).worse == (0,)


def test_few_items_keep_a_contestant_in() -> None:
    scores = np.array([[50.0, 50.1, 49.9], [55.0, 55.1, 54.9]])
    calm, wild = np.zeros(30), np.repeat([3.0, -3.0], 15)  # points by which clusters of items move the second one
    few = [[calm, calm, calm], [wild, wild, wild]]
    assert standing(scores, None, tests=1).worse == (0,)
    assert standing(scores, few, tests=1).worse == ()


def test_one_seed_proves_nothing() -> None:
    found = standing(np.array([[1.0], [9.0], [5.0]]), None, tests=2)
    assert found.worse == ()
    assert found.stay == (1, 2)


def test_one_contestant_wins() -> None:
    assert standing(np.array([[1.0, 2.0]]), None, tests=0).stay == (0,)
