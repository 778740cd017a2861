"""Ranks over blocks: definitions in loops, and why tasks of one run are no blocks."""

from itertools import combinations, product
from math import sqrt

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.blocks import PRIOR, friedman, mean_ranks, signed_rank_chances, significant_pairs, wilcoxon
from cseb.statistics.ranks import seeded

# Four methods on twelve blocks, with ties, the third and fourth a little better.
TIED = np.random.default_rng(8).integers(50, 56, (4, 12)) + np.array([0.0, 0.0, 1.0, 2.0])[:, None]


def ranked(scores: np.ndarray) -> list[list[float]]:
    """For each block the ranks of its methods, 1 the highest, counted in loops."""
    return [
        [sum(other > one for other in block) + (sum(other == one for other in block) + 1) / 2 for one in block]
        for block in scores.T.tolist()
    ]


def by_hand(scores: np.ndarray) -> float:
    """Friedman's statistic with ties as Conover 1999 has them, from ranks counted in loops."""
    methods, blocks = scores.shape
    ranks = ranked(scores)
    sums = [sum(block[method] for block in ranks) for method in range(methods)]
    squares = sum(rank**2 for block in ranks for rank in block)
    centre = blocks * methods * (methods + 1) ** 2 / 4
    statistic = (methods - 1) * (sum(one**2 for one in sums) - blocks * centre) / (squares - centre)
    return float(stats.chi2.sf(statistic, methods - 1))


def test_mean_ranks_count_from_the_best_and_share_ties() -> None:
    assert mean_ranks(np.array([[3.0, 1.0], [2.0, 2.0], [2.0, 3.0]])) == pytest.approx([2.0, 2.25, 1.75])
    assert mean_ranks(TIED) == pytest.approx(np.mean(ranked(TIED), axis=0))


def test_friedman_is_its_formula() -> None:
    assert any(len(set(block)) < 4 for block in TIED.T.tolist())
    assert friedman(TIED) == pytest.approx(by_hand(TIED))
    assert 0.001 < friedman(TIED) < 0.5
    assert friedman(np.full((3, 8), 60.0)) == 1


def test_wilcoxon_is_a_count_of_all_signs() -> None:
    for seed in range(5):
        d = np.random.default_rng(seed).standard_normal(8) + 0.5
        ranks = stats.rankdata(np.abs(d))
        found = abs(float(np.sign(d) @ ranks))
        flips = [abs(float(np.array(signs) @ ranks)) for signs in product((-1, 1), repeat=8)]
        assert wilcoxon(d) == pytest.approx(np.mean([flip >= found - 1e-9 for flip in flips]))
    assert wilcoxon(np.zeros(9)) == 1


def test_methods_that_differ_on_every_corpus_are_significant_pairs() -> None:
    rng = np.random.default_rng(0)
    level = rng.normal(60, 5, 10)  # corpora differ much more than methods
    scores = level + np.array([0.0, 0.0, 3.0])[:, None] + 0.1 * rng.standard_normal((3, 10))
    assert significant_pairs(scores) == {frozenset((0, 2)), frozenset((1, 2))}
    assert significant_pairs(scores[:2]) == frozenset()
    assert significant_pairs(scores[1:]) == {frozenset((0, 1))}
    eight = np.arange(5.0)[:, None] + rng.standard_normal((5, 8)) / 100
    assert significant_pairs(eight) == frozenset()  # ten pairs times 2 / 2^8 is above 5 %
    assert len(significant_pairs(np.concatenate([eight, eight], axis=1))) == 10


def test_signed_rank_chances_are_those_of_loops() -> None:
    d = np.array([0.7, -0.3, 1.4, 0.2, 0.9])
    weights = seeded(d).dirichlet([PRIOR, 1, 1, 1, 1, 1], 300)
    values, wins = [0.0, *d.tolist()], [0, 0, 0]
    for w in weights:
        parts = [0.0, 0.0, 0.0]
        for i, j in product(range(6), repeat=2):
            middle = (values[i] + values[j]) / 2
            parts[0 if middle < -0.5 else 2 if middle > 0.5 else 1] += w[i] * w[j]
        wins[parts.index(max(parts))] += 1
    assert signed_rank_chances(d, 0.5, 300) == pytest.approx([win / 300 for win in wins])
    assert 0 < wins[1] < 300


def test_signed_rank_chances_of_what_is_certain() -> None:
    many = np.linspace(2, 3, 12)
    assert signed_rank_chances(many) == pytest.approx((0, 0, 1), abs=1e-3)
    assert signed_rank_chances(-many) == pytest.approx((1, 0, 0), abs=1e-3)
    assert signed_rank_chances(many / 100) == pytest.approx((0, 1, 0), abs=1e-3)
    assert sum(signed_rank_chances(np.array([3.0, -3.0, 1.0]))) == pytest.approx(1)


@pytest.mark.slow
def test_corpora_are_blocks_and_tasks_of_one_run_are_not() -> None:
    """Four equal methods, 5 seeds averaged; seven tasks that share 0.3 of their variance are rejected in 41 %."""
    rng = np.random.default_rng(0)
    studies, rejected = 1000, {"corpora": 0, "tasks": 0}
    for _ in range(studies):
        shared = sqrt(0.3) * rng.standard_normal((4, 5, 1))
        tasks = (shared + sqrt(0.7) * rng.standard_normal((4, 5, 7))).mean(axis=1)
        corpora = rng.standard_normal((4, 5, 10)).mean(axis=1)
        rejected["tasks"] += friedman(tasks) <= 0.05
        rejected["corpora"] += friedman(corpora) <= 0.05
    assert rejected["tasks"] / studies == pytest.approx(0.41, abs=0.05)
    assert rejected["corpora"] / studies == pytest.approx(0.045, abs=0.02)


def test_pairs_do_not_depend_on_the_order_of_methods() -> None:
    scores = np.random.default_rng(3).standard_normal((4, 12)) + np.arange(4)[:, None]
    turned = {frozenset(3 - place for place in pair) for pair in significant_pairs(scores[::-1])}
    assert significant_pairs(scores) == turned
    assert turned <= {frozenset(pair) for pair in combinations(range(4), 2)}
