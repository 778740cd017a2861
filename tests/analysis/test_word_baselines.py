"""Baselines of counted words: on embedded tasks alone, averaged over them."""

from __future__ import annotations

import sys
from statistics import fmean

import pytest

from cseb.analysis.word_baselines import word_baselines
from cseb.tasks.words import BASELINES, baselines

TWO = ("mw-captions@1", "mw-forum@1")


def test_the_average_is_that_of_the_tasks() -> None:
    found = word_baselines(TWO)
    points = baselines([task.partition("@")[0] for task in TWO])
    assert found == {name: pytest.approx(fmean(one or 0.0 for one in points[name])) for name in BASELINES}
    assert points["TF-IDF"][0] != points["TF-IDF"][1]


def test_a_baseline_without_a_score_on_a_task_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules[word_baselines.__module__]
    monkeypatch.setattr(module, "baselines", lambda tasks: {"one": [1.0, 3.0], "two": [1.0, None]})
    word_baselines.cache_clear()
    assert word_baselines(TWO) == {"one": 2.0}
    word_baselines.cache_clear()


@pytest.mark.parametrize("tasks", [(), ("stsb@1",), (*TWO, "stsb@1")])
def test_other_tasks_have_none(tasks: tuple[str, ...]) -> None:
    assert word_baselines(tasks) == {}
