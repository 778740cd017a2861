"""Two methods, paired by seed: numbers by hand and of scipy, conclusions, and what is refused."""

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.paired import Comparison, Design, exact_floor

A = np.array([70.0, 71.0, 69.0, 70.5, 70.0])
B = np.array([71.0, 71.5, 70.5, 71.0, 71.5])  # differences 1, 0.5, 1.5, 0.5, 1.5: mean 1, variance 0.25


def test_without_items_it_is_the_paired_t_test_of_scipy() -> None:
    result, expected = Comparison(A, B), stats.ttest_rel(B, A)
    reach = expected.confidence_interval(0.95)
    seeds = result.interval("seeds")
    assert result.p == pytest.approx(expected.pvalue)
    assert (seeds.low, seeds.high) == pytest.approx((reach.low, reach.high))
    assert (result.scope, result.wins, result.n, result.mean) == ("seeds", 5, 5, 1.0)
    assert result.interval("items") is None
    assert result.interval("seeds and items") is None


def test_with_items_variances_add_and_degrees_of_freedom_grow() -> None:
    result = Comparison(A, B, items=0.15)
    assert result.variance("seeds") == pytest.approx(0.05)
    assert result.variance("items") == pytest.approx(0.15)
    assert result.variance("seeds and items") == pytest.approx(0.2)
    [part] = result.parts("seeds and items")
    assert part == pytest.approx((0.2, 0.2**2 / (0.05**2 / 4)))  # 64 degrees of freedom
    assert result.p == pytest.approx(2 * stats.t.sf(1 / np.sqrt(0.2), 64))
    few = Comparison(A, B, items=0.15, df=5)
    [part] = few.parts("seeds and items")
    assert part == pytest.approx((0.2, 0.2**2 / (0.05**2 / 4 + 0.15**2 / 5)))
    assert few.interval("items").high == pytest.approx(1 + stats.t.isf(0.025, 5) * np.sqrt(0.15))
    assert few.design.tests[1] == pytest.approx(part)
    assert Comparison(A, A, items=0.15, df=5).design.tests == [(0.15, 5)]
    unpaired = Comparison(A, B, items=0.15, df=5, paired=False)
    assert unpaired.parts("seeds and items")[2] == (0.15, 5)
    assert Comparison(A, A).wins == 0
    both, items = result.interval("seeds and items"), result.interval("items")
    assert both.high == pytest.approx(1 + stats.t.isf(0.025, 64) * np.sqrt(0.2))
    assert items.high == pytest.approx(1 + 1.959964 * np.sqrt(0.15), abs=1e-6)


def test_power_takes_the_variances_and_degrees_of_freedom_of_the_tests() -> None:
    variances, degrees = zip(*Comparison(A, B, items=0.15).design.tests, strict=True)
    assert (variances, degrees) == (pytest.approx((0.05, 0.2)), pytest.approx((4, 64)))
    # 2.80 standard errors of the normal distribution, from the items alone
    assert Design(5, 1.0, items=100.0).detectable() == pytest.approx(28.0, abs=0.1)


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 20])
@pytest.mark.parametrize("items", [0.03, 0.1, 1.0])  # beside a variance of 1 / n over seeds
def test_seeds_and_items_cover_what_they_promise_and_are_never_laxer_than_seeds(n: int, items: float) -> None:
    """The true difference is 0. Satterthwaite's interval alone covers 87 % with two seeds and items of 0.03."""
    rng = np.random.default_rng(0)
    studies, covered = 1000, 0
    for seeds, shift in zip(rng.standard_normal((studies, n)), rng.normal(0, items**0.5, studies), strict=True):
        result, only_seeds = Comparison(np.zeros(n), seeds + shift, items), Comparison(np.zeros(n), seeds + shift)
        both, alone = result.interval("seeds and items"), only_seeds.interval("seeds")
        assert both.low <= alone.low
        assert both.high >= alone.high
        assert result.p is None or result.p >= (only_seeds.p or 0)
        assert result.p is None or (result.p > 0.05) == (0.0 in both)
        covered += 0.0 in both
    assert covered / studies > 0.95 - 3 * (0.95 * 0.05 / studies) ** 0.5


def test_without_pairing_quantiles_are_averaged_by_variance() -> None:
    """Cochran & Cox 1950: t' = (w_a t_a + w_b t_b) / (w_a + w_b), w the variance of a mean, t of n - 1."""
    more = np.array([70.0, 71.0, 69.0, 70.5, 70.0, 69.5, 72.0, 70.2])
    result, seeds = Comparison(more, B, paired=False), Comparison(more, B, paired=False).interval("seeds")
    weights = np.array([stats.sem(more) ** 2, stats.sem(B) ** 2])
    error = np.sqrt(weights.sum())

    def critical(level: float) -> float:
        return float(np.average(stats.t.isf(level / 2, [7, 4]), weights=weights))

    assert seeds is not None and result.p is not None
    assert critical(result.p) == pytest.approx(abs(result.mean) / error)
    assert (seeds.high - seeds.low) / 2 == pytest.approx(critical(0.05) * error)
    welch = stats.ttest_ind(B, more, equal_var=False)
    assert welch.pvalue < result.p < 2 * stats.t.sf(abs(result.mean) / error, 4)
    assert (result.n, result.mean) == (5, pytest.approx(B.mean() - more.mean()))
    assert (result.wins, result.differences.size) == (None, 0)
    assert Comparison(more, B, items=4.0, paired=False).p > (result.p or 1)
    constant = Comparison(np.full(5, 60.0), B, paired=False)
    assert constant.p == pytest.approx(stats.ttest_1samp(B, 60.0).pvalue)


@pytest.mark.parametrize("spread", [1.0, 2.0])
def test_few_seeds_against_many_keep_the_rate_of_false_findings(spread: float) -> None:
    """One of 22 methods differs from a baseline like it in at most 5 % of studies; with Welch's test in 10 and 12 %."""
    rng = np.random.default_rng(3)
    studies, found = 600, 0
    for _ in range(studies):
        baseline = rng.standard_normal(20)
        pairs = [Comparison(baseline, spread * rng.standard_normal(5), paired=False) for _ in range(22)]
        found += any(0.0 not in pair.interval("seeds", 0.05 / 22) for pair in pairs)
    assert found / studies < 0.05 + 2 * (0.05 * 0.95 / studies) ** 0.5


def test_more_seeds_of_the_baseline_help_where_pairing_gains_nothing() -> None:
    """Five seeds of a method against 5 or 20 of its baseline, uncorrelated, effect of two sd."""
    rng = np.random.default_rng(1)
    rejected = {"paired": 0, "unpaired": 0}
    false = 0
    for _ in range(1000):
        a, b = rng.standard_normal(20), rng.standard_normal(5)
        rejected["paired"] += (Comparison(a[:5], b + 2).p or 1) < 0.05
        rejected["unpaired"] += (Comparison(a, b + 2, paired=False).p or 1) < 0.05
        false += (Comparison(a, b, paired=False).p or 1) < 0.05
    assert rejected["unpaired"] > rejected["paired"] + 150
    assert false / 1000 < 0.05 + 3 * (0.05 * 0.95 / 1000) ** 0.5


def test_the_floor_of_exact_tests() -> None:
    assert (exact_floor(1), exact_floor(5), exact_floor(6)) == (1.0, 0.0625, 0.03125)
    assert stats.wilcoxon(np.arange(1, 6)).pvalue == exact_floor(5)


@pytest.mark.parametrize(
    ("differences", "items", "adjusted", "word"),
    [
        ((1, 0.5, 1.5, 0.5, 1.5), 0.0, 0.01, "better"),
        ((-1, -0.5, -1.5, -0.5, -1.5), 0.0, 0.05, "worse"),
        ((1, 0.5, 1.5, 0.5, 1.5), 0.0, 0.051, "inconclusive"),
        ((0.1, -0.1, 0.2, -0.2, 0.05), 0.001, 0.9, "equivalent"),
        ((0.1, -0.1, 0.2, -0.2, 0.05), 0.2, 0.9, "inconclusive"),  # the seeds agree, the items cannot tell
        ((0.3, 0.3, 0.3, 0.3, 0.3), 0.0121, 0.9, "equivalent"),  # 0.12 to 0.48 at 90 %, 0.08 to 0.52 at 95 %
        ((1, 0.5, 1.5, 0.5), 0.0, 0.001, "too few seeds"),
        ((1, 0.5, 1.5, 0.5, 1.5), 0.0, None, "too few seeds"),
    ],
)
def test_conclusions(differences: tuple[float, ...], items: float, adjusted: float | None, word: str) -> None:
    d = np.array(differences, dtype=float)
    assert Comparison(np.zeros(len(d)), d, items).conclusion(adjusted, margin=0.5) == word


def test_no_p_below_three_seeds_and_none_without_a_spread() -> None:
    two = Comparison(A[:2], B[:2], 0.1)
    assert two.p is None
    assert two.interval("seeds and items") is not None
    first = Comparison(A[:1], B[:1], 0.1)
    assert (first.p, first.scope, first.interval("seeds")) == (None, "items", None)
    assert first.interval("items") is not None


def test_encoders_that_are_not_trained_are_compared_on_items_alone() -> None:
    still = Comparison(np.full(5, 60.0), np.full(5, 61.0), 0.25)
    assert (still.scope, still.interval("seeds"), still.parts("items")) == ("items", None, [(0.25, np.inf)])
    assert still.p == pytest.approx(2 * stats.norm.sf(2))
    assert Comparison(np.full(5, 60.0), np.full(5, 61.0)).p is None
    same = Comparison(np.full(5, 60.0), np.full(5, 60.0), 0.0)
    assert same.p == 1.0


@pytest.mark.parametrize(("n", "least"), [(3, 3.26), (5, 1.68), (8, 1.16), (10, 1.00), (20, 0.66)])
def test_smallest_difference_found_with_80_percent_power(n: int, least: float) -> None:
    """Table of the two-sided paired t-test, in sd of the differences."""
    assert Design(n, 1.0).detectable() == pytest.approx(least, abs=0.006)
    assert Design(n, 2.0).detectable() == pytest.approx(2 * (Design(n, 1.0).detectable() or 0))
    assert Design(n, 1.0).seeds_for(least + 0.01) == n


def test_one_seed_finds_nothing_and_two_find_little() -> None:
    assert Design(1, 1.0).detectable() is None
    two = Design(2, 1.0).detectable() or 0
    assert Design(2, 1.0).power(two) == pytest.approx(0.8)
    assert two > 10


def test_more_seeds_cannot_help_a_benchmark_that_is_too_small() -> None:
    small = Design(5, 1.0, items=1.0)  # even without any seed variance 2.80 standard errors are needed
    assert small.too_small(2.79)
    assert small.seeds_for(2.79) is None
    assert not small.too_small(2.81)
    fine = Design(5, 1.0, items=0.01)
    assert not fine.too_small(0.5)
    assert not Design(5, 1.0).too_small(0.001)  # without items it takes seeds
    seeds = fine.seeds_for(0.5)
    assert Design(seeds, 1.0, 0.01).power(0.5) >= 0.8 > Design(seeds - 1, 1.0, 0.01).power(0.5)
    assert Design(5, 1.0).seeds_for(0.001) is None
    assert Design(5, 1.0).power(1000.0) == 1.0


@pytest.mark.parametrize("items", [None, 0.0])
def test_identical_methods_are_compared_and_equal(items: float | None) -> None:
    """They had neither an interval nor a p-value, and so left the family that is corrected together."""
    result = Comparison(A, A, items)
    assert result.identical
    assert result.p == 1.0
    assert result.conclusion(1.0) == "identical"
    reach = result.interval("seeds")
    assert (reach.low, reach.high) == (0.0, 0.0)
    assert (result.interval("seeds and items") is None) is (items is None)
    two = Comparison(A[:2], A[:2], items)
    assert (two.p, two.conclusion(None)) == (None, "identical")
    assert not Comparison(A[:1], A[:1], items).identical  # one seed says nothing of the others
    assert not Comparison(A, A + 1, items).identical
    assert not Comparison(A, A, 0.1).identical
