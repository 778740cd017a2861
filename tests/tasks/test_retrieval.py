"""Retrieval metrics: the check case worked out by hand, ties, and the reciprocal rank."""

import numpy as np
import pytest

from cseb.tasks.retrieval import mean_average_precision, ranks, top_k

SCORES = np.array([[0.9, 0.1, 0.3, 0.2], [0.2, 0.8, 0.7, 0.1], [0.5, 0.6, 0.4, 0.55]])
RELEVANT = [[0], [2], [0, 2]]


def test_three_queries_and_four_candidates() -> None:
    assert ranks(SCORES, RELEVANT) == [[1], [2], [3, 4]]
    assert top_k(SCORES, RELEVANT, 1) == pytest.approx(0.3333333333, abs=1e-6)
    assert top_k(SCORES, RELEVANT, 3) == 1.0
    assert mean_average_precision(SCORES, RELEVANT) == pytest.approx(0.6388888889, abs=1e-6)


def test_ties_keep_the_order_of_candidates() -> None:
    assert ranks(np.ones((2, 3)), [[2], [0]]) == [[3], [1]]


def test_one_relevant_candidate_makes_it_the_mean_reciprocal_rank() -> None:
    scores = np.random.default_rng(0).normal(size=(5, 7))
    own = [[row] for row in range(5)]
    reciprocal = [1 / (1 + sum(other > row[number] for other in row)) for number, row in enumerate(scores)]
    assert mean_average_precision(scores, own) == pytest.approx(np.mean(reciprocal))
