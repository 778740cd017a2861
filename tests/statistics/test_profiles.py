"""Profiles and interquartile means of gains, against loops and against every way to draw the seeds."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from cseb.statistics.profiles import band, fraction_above, iqm_of_seeds

GAINS = np.array([[1.0, 2.0, -1.0], [0.0, 3.0, 2.0], [4.0, 4.0, 1.0], [-2.0, 2.0, 0.5]])  # (seed, task)
AT = np.array([-3.0, 0.0, 1.9, 2.0, 9.0])


def test_the_profile_counts_pairs_that_gain_more() -> None:
    counted = [sum(float(gain) > x for row in GAINS for gain in row) / GAINS.size for x in AT]
    assert fraction_above(GAINS, AT) == pytest.approx(counted)
    assert counted[0] == 1
    assert counted[-1] == 0


def test_the_band_is_that_of_all_draws_of_whole_seeds() -> None:
    shares = np.array(
        [
            [np.mean([gain > x for seed in chosen for gain in GAINS[seed]]) for x in AT]
            for chosen in product(range(4), repeat=4)
        ]
    )
    low, high = band(GAINS, AT, draws=20_000)
    assert low == pytest.approx(np.quantile(shares, 0.025, axis=0), abs=1e-9)
    assert high == pytest.approx(np.quantile(shares, 0.975, axis=0), abs=1e-9)


def test_tasks_of_one_seed_are_drawn_together() -> None:
    together = np.repeat([[1.0], [1.0], [-1.0], [-1.0]], 50, axis=1)  # all tasks of a seed alike
    low, high = band(together, np.array([0.0]))
    assert (low[0], high[0]) == (0, 1)  # 200 free draws would stay between 0.4 and 0.6


def test_the_interquartile_mean_trims_seeds_and_not_tasks() -> None:
    gains = np.array([[10.0, 0.0], [1.0, 1.0], [2.0, 4.0], [90.0, 90.0], [3.0, 1.0]])
    middle, reach = iqm_of_seeds(gains)
    assert middle == pytest.approx(np.mean([2, 3, 5]))  # of the averages 5, 1, 3, 90, 2
    assert middle != pytest.approx(stats.trim_mean(gains.ravel(), 0.25))
    drawn = [np.sort(np.array([5.0, 1, 3, 90, 2])[list(chosen)])[1:4].mean() for chosen in product(range(5), repeat=5)]
    assert reach.low == pytest.approx(np.quantile(drawn, 0.025), abs=0.4)
    assert reach.high == pytest.approx(np.quantile(drawn, 0.975), abs=4)


def test_the_same_gains_give_the_same_band() -> None:
    assert band(GAINS, AT).tolist() == band(GAINS.copy(), AT).tolist()
    assert iqm_of_seeds(GAINS) == iqm_of_seeds(GAINS.copy())


def test_a_quarter_of_the_seeds_rounded_down_is_left_out_at_either_end() -> None:
    means = np.array([50.0, 1.0, 2.0, 4.0, -9.0])
    assert iqm_of_seeds(means[:, None])[0] == pytest.approx(7 / 3)
    assert iqm_of_seeds(means[:3, None])[0] == pytest.approx(53 / 3)
