"""Whether the promises hold: coverage, error rates and power, by simulating studies whose truth is known.

Every expected number has a tolerance of three standard errors of the simulation, unless a range is stated.
"""

from math import sqrt

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.items import average, variance
from cseb.statistics.paired import Comparison, holm
from cseb.tasks.influence import mean_influence, spearman_influence

pytestmark = pytest.mark.slow
STUDIES = 2000


def within_noise(share: float, expected: float, studies: int = STUDIES) -> bool:
    return abs(share - expected) < 3 * sqrt(expected * (1 - expected) / studies)


def test_holm_keeps_a_study_of_eight_equal_methods_at_4_percent() -> None:
    """28 paired tests: some p is below 0.05 in 62 % of the studies, some adjusted p in 4 %."""
    rng = np.random.default_rng(1)
    studies = 1000
    raw = adjusted = 0
    for _ in range(studies):
        points = rng.standard_normal((8, 5))
        p = np.array([Comparison(points[i], points[j]).p or 1 for i in range(8) for j in range(i)])
        raw += bool(p.min() < 0.05)
        adjusted += bool(holm(p).min() < 0.05)
    assert within_noise(raw / studies, 0.62, studies)
    assert within_noise(adjusted / studies, 0.04, studies)


@pytest.mark.parametrize(("seed_sd", "alone"), [(0.3, "items"), (1.0, "seeds")])
def test_claims_about_seeds_and_items_hold_their_level(seed_sd: float, alone: str) -> None:
    """Two methods that are equal over all seeds and all items, seven tasks of 100 items, five seeds.

    Where seeds differ little, a test of the seeds alone rejects too often; where they differ much, a test of the items
    alone does. The combined test rejects 4 % of the time in both, at a level of 5 %.
    """
    rng = np.random.default_rng(round(10 * seed_sd))
    rejected = dict.fromkeys(("seeds", "items", "seeds and items"), 0)
    for _ in range(STUDIES):
        by_item = 10 * rng.standard_normal((7, 100))  # which items suit B: its part of the difference is their mean
        by_seed = seed_sd * sqrt(2) * rng.standard_normal((5, 1, 1))
        gaps = by_seed + by_item + 6 * rng.standard_normal((5, 7, 100))  # (seed, task, item)
        means = gaps.mean(axis=0)
        items = variance(average([mean_influence(task) / 100 for task in means]))
        result = Comparison(np.zeros(5), gaps.mean(axis=(1, 2)), items)
        for scope in rejected:
            reach = result.interval(scope)
            rejected[scope] += reach is not None and 0.0 not in reach
    rates = {scope: count / STUDIES for scope, count in rejected.items()}
    assert 0.02 < rates["seeds and items"] < 0.055
    other = "seeds" if alone == "items" else "items"
    assert rates[other] > 0.08


@pytest.mark.parametrize(("seed_sd", "item_sd"), [(0.02, 0.5), (0.1, 0.1)])
def test_combined_intervals_of_a_difference_of_correlations_cover(seed_sd: float, item_sd: float) -> None:
    """Spearman's rho of B less that of A on one task: 94 to 98 % of the intervals hold the true difference."""
    rng = np.random.default_rng(round(1000 * seed_sd))
    studies, count = 400, 300
    unstratified = np.zeros(count, dtype=np.int64)

    def run(gold: np.ndarray, own: np.ndarray, shift: float) -> np.ndarray:
        """Similarities of one run: a signal whose strength varies with the seed, what suits the encoder, and noise."""
        return ((0.8 + shift) * gold + item_sd * own + 0.5 * rng.standard_normal(len(gold))).astype(np.float32)

    stored = seeds_alone = items_alone = 0
    for _ in range(studies):
        gold, own = rng.standard_normal(count), rng.standard_normal((2, count))
        points, moves = np.zeros((2, 5)), np.zeros((2, count))
        for method in range(2):
            for seed in range(5):
                result = run(gold, own[method], seed_sd * rng.standard_normal())
                points[method, seed] = 100 * stats.spearmanr(result, gold).statistic
                moves[method] += spearman_influence(result, gold, unstratified) / count / 5
        text = Comparison(points[0], points[1], variance(moves[1] - moves[0]))
        both, seeds, items = (text.interval(scope) for scope in ("seeds and items", "seeds", "items"))
        stored += both is not None and 0.0 in both
        seeds_alone += seeds is not None and 0.0 in seeds
        items_alone += items is not None and 0.0 in items
    assert 0.935 < stored / studies < 0.99
    assert min(seeds_alone, items_alone) / studies < 0.9
