"""Published numbers inside and outside our intervals, and those that do not compare."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from cseb.registry import TASK_GROUPS
from cseb.results.record import Record
from cseb.results.reproduce import prediction, reproduced, welch
from tests.results.factory import record

STS = tuple(f"{name}@1" for name in TASK_GROUPS["sts"])


def grid(means: list[float], method: str = "msse", size: int = 100) -> list[Record]:
    """Runs with these averages, as the papers were run: a thousandth of a million sentences on BERT."""
    runs = [
        record(method, size, seed, values=(mean,) * 7, tasks=STS, encoder="bert-base-uncased", dev="stsb-dev@1")
        for seed, mean in enumerate(means)
    ]
    return [
        one.model_copy(update={"subset": type(one.subset)(size=1000, fraction=0.001, sha256="5" * 64)}) for one in runs
    ]


def test_the_prediction_interval_holds_one_more_run_in_95_of_100_cases() -> None:
    rng = np.random.default_rng(0)
    runs = rng.normal(70, 1, (4000, 6))
    inside = 0
    for *ours, new in runs:
        low, high = prediction(float(np.mean(ours)), float(np.std(ours, ddof=1)), 5)
        inside += low <= new <= high
    assert inside / 4000 == pytest.approx(0.95, abs=0.012)


def test_welch_is_that_of_scipy() -> None:
    a, b = np.array([70.0, 71.0, 73.0, 70.5]), np.array([69.0, 69.5, 68.0, 70.0, 69.9])
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval()
    found = welch(*((float(x.mean()), float(x.std(ddof=1)), len(x)) for x in (a, b)))
    assert found == pytest.approx((interval.low, interval.high))
    assert welch((70.0, 0.0, 5), (69.0, 0.0, 5)) == (1.0, 1.0)


@pytest.mark.parametrize(("shift", "ok"), [(0.0, True), (5.0, False), (-5.0, False)])
def test_msse_on_a_thousandth(shift: float, ok: bool) -> None:
    """Printed: 75.81 ± 0.41 over five seeds."""
    best, last = reproduced(grid([75.5 + shift, 75.8 + shift, 76.1 + shift]))
    assert (best.question, best.cell, best.ok) == ("paper", "msse 0.1 % best", ok)
    assert best.text.startswith("msse, Table 2: 75.81 ± 0.41 (n=5); ")
    assert ("outside by +4.99 points, 16.6 sd" in best.text) is (shift == 5.0)
    assert last.ok is None
    assert last.text.endswith("not comparable (checkpoint: the last, theirs the best on stsb-dev)")


def test_every_printed_value_is_answered() -> None:
    """SimCSE on a thousandth has three, one of them outside the seeds' scatter."""
    found = {
        one.text.partition(";")[0]: one.ok
        for one in reproduced(grid([65.5, 66.0, 65.9, 65.7, 65.4], "simcse"))
        if " best" in one.cell
    }
    assert {text: ok for text, ok in found.items() if "msse" in text} == {"msse, Table 2: 65.72 ± 0.25 (n=5)": True}
    assert found["micse, Table 2: 67.94 ± 1.16 (n=5)"] is False
    assert "micse, Table 4: 66.69 ± 1.03 (n=5) [inconsistent]" in found


def test_one_seed_and_another_world_are_not_judged() -> None:
    (one, _) = reproduced(grid([75.8]))
    assert one.ok is None
    assert "from one seed has no interval; gap -0.01" in one.text
    toy = reproduced([record("msse", encoder="microworld", seed=seed) for seed in range(3)])
    assert toy
    assert all(answer.ok is None and "encoder microworld, theirs bert-base" in answer.text for answer in toy)
    assert reproduced([record("simcse+recipe(steps=5)")]) == []
