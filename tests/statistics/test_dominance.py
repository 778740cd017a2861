"""Almost stochastic order: the ratio against an integral taken in loops, the bound against what is certain."""

from math import ceil

import numpy as np
import pytest

from cseb.statistics.dominance import THRESHOLD, eps_min, violation


def quantile(values: np.ndarray, t: float) -> float:
    """The smallest value that a share t of the values do not exceed."""
    return sorted(values.tolist())[ceil(t * len(values)) - 1]


def integrated(above: np.ndarray, below: np.ndarray, steps: int) -> float:
    """The ratio of del Barrio et al. 2018 by the midpoint rule, from quantile functions as they are defined."""
    wrong = total = 0.0
    for step in range(steps):
        t = (step + 0.5) / steps
        gap = quantile(above, t) - quantile(below, t)
        total += gap * gap
        wrong += gap * gap if gap < 0 else 0.0
    return wrong / total


@pytest.mark.parametrize(("n", "m"), [(5, 5), (3, 5), (7, 4), (1, 2)])
def test_the_ratio_is_the_integral_of_its_definition(n: int, m: int) -> None:
    rng = np.random.default_rng(n)
    for _ in range(10):
        above, below = rng.standard_normal(n).round(1), rng.standard_normal(m).round(1)
        exact = integrated(above, below, n * m)  # both functions are steps of whole parts of 1 / (n m)
        assert float(violation(above, below)) == pytest.approx(exact)
        assert float(violation(below, above)) == pytest.approx(1 - exact)


def test_by_hand() -> None:
    # Sorted gaps +3, +4, +2; then +3, -1, +2, of whose 14 squared points one is on the wrong side.
    assert float(violation(np.array([12.0, 4, 9]), np.array([5.0, 1, 10]))) == pytest.approx(0.0)
    assert float(violation(np.array([13.0, 4, 9]), np.array([10.0, 1, 11]))) == pytest.approx(1 / 14)


def test_rows_are_samples() -> None:
    above, below = np.random.default_rng(0).standard_normal((2, 6, 5))
    assert violation(above, below) == pytest.approx([float(violation(a, b)) for a, b in zip(above, below, strict=True)])


def test_the_bound_is_0_far_above_1_far_below_and_never_small_for_the_same() -> None:
    points = np.array([70.0, 70.5, 71.2, 69.8, 70.1])
    assert eps_min(points + 5, points) == 0
    assert eps_min(points - 5, points) == 1
    assert float(violation(points, points)) == 0.5
    assert eps_min(points, points.copy()) > 0.5
    assert eps_min(np.full(5, 70.0), np.full(5, 70.0)) == pytest.approx(0.5)  # nothing varies and nothing differs


def test_the_bound_lies_above_the_estimate_and_comes_out_again() -> None:
    above, below = np.random.default_rng(3).standard_normal((2, 5))
    found = eps_min(above + 0.5, below)
    assert found > float(violation(above + 0.5, below))
    assert eps_min(above + 0.5, below) == found
    assert eps_min(above + 0.5, below, draws=300) != found


@pytest.mark.slow
def test_how_often_equal_methods_pass_and_how_often_better_ones_do() -> None:
    """Five seeds. Equal methods: 4 % are below 0.2 and 19 % below 0.5; an effect of one sd: 43 % below 0.2."""
    rng = np.random.default_rng(0)
    studies = 1500
    a, b = rng.standard_normal((2, studies, 5))
    equal = np.mean([eps_min(x, y) < THRESHOLD for x, y in zip(a, b, strict=True)])
    better = np.mean([eps_min(x + 1, y) < THRESHOLD for x, y in zip(a, b, strict=True)])
    loose = np.mean([eps_min(x, y) < 0.5 for x, y in zip(a, b, strict=True)])
    assert 0.025 < equal < 0.06
    assert 0.39 < better < 0.48
    assert 0.15 < loose < 0.27  # which is why the threshold is not 0.5
