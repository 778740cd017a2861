"""What more sentences bring: by hand, and what cannot be said."""

import numpy as np
import pytest
from scipy.stats import t

from cseb.analysis.learning_curve import learning_curve, times_as_many
from cseb.analysis.paired import Sample

FEW, MANY, MOST = {0: 50.0, 1: 52.0, 2: 51.0}, {0: 53.0, 1: 54.0, 2: 55.0, 3: 90.0}, {1: 54.0, 2: 56.0}


def sample(method: str, points: dict[int, float]) -> Sample:
    return Sample(method, points, {}, "no items were asked for")


def test_a_step_is_paired_by_seed_and_its_interval_is_students() -> None:
    found = learning_curve({1000: [sample("simcse", MANY)], 100: [sample("simcse", FEW)]})
    [step] = found.steps
    assert (step.few, step.many, step.seeds) == (100, 1000, (0, 1, 2))
    gaps = np.array([3.0, 2.0, 4.0])
    assert step.found.mean == pytest.approx(gaps.mean())
    half = t.ppf(0.975, 2) * gaps.std(ddof=1) / np.sqrt(3)
    interval = step.found.interval("seeds")
    assert interval is not None
    assert (interval.low, interval.high) == (pytest.approx(3 - half), pytest.approx(3 + half))
    assert found.lacking == "no items were asked for"


def test_neighbouring_sizes_of_each_method_are_compared() -> None:
    found = learning_curve(
        {
            100: [sample("simcse", FEW), sample("cls", FEW)],
            1000: [sample("simcse", MANY), sample("cls", FEW)],
            5000: [sample("simcse", MOST), sample("cls", FEW), sample("late", FEW)],
        }
    )
    assert [(one.method, one.few, one.many) for one in found.steps] == [("simcse", 100, 1000), ("simcse", 1000, 5000)]
    assert found.still == ("cls",)
    assert found.few == ("late",)


def test_one_shared_seed_is_too_few() -> None:
    found = learning_curve({100: [sample("simcse", FEW)], 1000: [sample("simcse", {2: 55.0, 7: 54.0})]})
    assert (found.steps, found.few) == ((), ("simcse",))


def test_the_answer_in_words() -> None:
    assert times_as_many(100, 1000) == "10 times as many sentences (100 to 1,000)"
    assert times_as_many(2000, 3000).startswith("1.5 times")
