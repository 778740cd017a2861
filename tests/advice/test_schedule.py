"""How many methods and seeds a budget allows."""

import numpy as np
import pytest

from cseb.advice.schedule import STARTING, Schedule, detectable, fitting
from cseb.analysis.paired import Sample
from cseb.errors import BadBenchmark

RUN = {"crops": 60.0, "simcse": 30.0, "tsdae": 90.0}


def test_without_a_budget_all_is_trained() -> None:
    schedule = fitting(RUN, 1, None)
    assert (schedule.methods, schedule.selecting, schedule.deciding_seeds) == (tuple(RUN), 3, range(3, 8))
    assert schedule.seconds(RUN, 1) == 3 * (60 + 30 + 90) + 5 * 90 + 2 * STARTING


def test_several_workers_take_less_time() -> None:
    schedule = Schedule(("crops", "simcse"), 3, 5)
    assert schedule.seconds(RUN, 2) == 3 * 45 + 3 * 60 + 2 * STARTING


@pytest.mark.parametrize(
    ("budget", "methods", "selecting", "deciding"),
    [(1010, 3, 3, 5), (1009, 2, 3, 5), (590, 2, 3, 5), (589, 1, 0, 5), (310, 1, 0, 5), (309, 1, 0, 3)],
)
def test_a_budget_takes_away_methods_and_then_seeds(budget: float, methods: int, selecting: int, deciding: int) -> None:
    schedule = fitting(RUN, 1, budget)
    assert (schedule.methods, schedule.selecting) == (tuple(RUN)[:methods], selecting)
    assert schedule.deciding == deciding
    assert schedule.seconds(RUN, 1) <= budget


def test_a_budget_that_allows_nothing_is_refused_with_what_is_enough() -> None:
    with pytest.raises(
        BadBenchmark, match=r"`budget` is 60 s; crops with 3 seeds already takes .* Give `budget` 4m or"
    ):
        fitting(RUN, 1, 60)


def test_the_plan_in_words() -> None:
    assert str(fitting(RUN, 1, None)) == "3 methods with 3 seeds each, then 5 seeds of the best"
    assert str(fitting(RUN, 1, 310)) == "crops with 5 seeds"


def test_four_times_as_many_examples_detect_half_the_difference() -> None:
    few, many = (Sample("x", {0: 50.0}, {0: np.tile([1.0, -1.0], count) / count}) for count in (50, 200))
    assert detectable(few, 5) == pytest.approx(2 * detectable(many, 5))
    assert detectable(few, 5) == pytest.approx(2.8 * np.sqrt(0.2 * 100 / 50**2), rel=0.01)
