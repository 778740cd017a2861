"""Influence of items: against brute force, against a re-ranking bootstrap, and what belongs together."""

import numpy as np
import pytest
from scipy import stats

from cseb.tasks.influence import connected, mean_influence, spearman_influence

NOWHERE = np.zeros(400, dtype=np.int64)


def data(n: int, ties: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal(n)
    gold = x + rng.standard_normal(n)
    if ties:
        x, gold = np.round(x, 1), np.clip(np.round(gold), -2, 2)
    return x.astype(np.float32), gold


@pytest.mark.parametrize("ties", [False, True])
def test_influence_is_that_of_the_equation_worked_out_in_loops(ties: bool) -> None:
    x, gold = data(60, ties)
    n = len(x)
    u, v = stats.rankdata(x) / n, stats.rankdata(gold) / n

    def half(a: float, b: float) -> float:
        return 1.0 if a > b else 0.5 if a == b else 0.0

    h = [
        u[i] * v[i] + sum(v[j] * half(x[j], x[i]) + u[j] * half(gold[j], gold[i]) for j in range(n)) / n
        for i in range(n)
    ]
    a = [u[i] ** 2 + 2 * sum(u[j] * half(x[j], x[i]) for j in range(n)) / n for i in range(n)]
    b = [v[i] ** 2 + 2 * sum(v[j] * half(gold[j], gold[i]) for j in range(n)) / n for i in range(n)]
    h, a, b = (np.array(each) - np.mean(each) for each in (h, a, b))
    rho = stats.pearsonr(u, v).statistic
    expected = h / (u.std() * v.std()) - rho / 2 * (a / u.var() + b / v.var())
    assert spearman_influence(x, gold, np.zeros(n, dtype=np.int64)) == pytest.approx(100 * expected, abs=1e-9)


@pytest.mark.parametrize("ties", [False, True])
def test_standard_error_is_that_of_a_re_ranking_bootstrap(ties: bool) -> None:
    x, gold = data(400, ties)
    closed = np.sqrt((spearman_influence(x, gold, NOWHERE) ** 2).sum()) / len(x)
    rng = np.random.default_rng(0)
    draws = rng.integers(0, len(x), (800, len(x)))
    again = np.std([100 * stats.spearmanr(x[d], gold[d]).statistic for d in draws])
    assert closed == pytest.approx(again, rel=0.1)


def test_influence_is_centred_inside_strata() -> None:
    x, gold = data(400, True)
    strata = np.arange(400) % 3
    moves = spearman_influence(x, gold, strata)
    assert [moves[strata == each].sum() for each in range(3)] == pytest.approx([0, 0, 0], abs=1e-8)
    assert (moves**2).sum() < (spearman_influence(x, gold, NOWHERE) ** 2).sum()


def test_influence_on_a_mean_is_the_distance_from_it() -> None:
    assert mean_influence(np.array([0.0, 100.0, 100.0])) == pytest.approx([-200 / 3, 100 / 3, 100 / 3])


def test_pairs_joined_by_a_chain_of_sentences_are_one_cluster() -> None:
    pairs = [("a", "b"), ("c", "d"), ("b", "e"), ("f", "f"), ("e", "g")]
    assert connected(pairs).tolist() == [0, 1, 0, 2, 0]
