"""Baselines of counted words: on embedded tasks alone, averaged over them."""

from __future__ import annotations

import sys
from statistics import fmean
from types import SimpleNamespace

import pytest

from cseb.analysis.word_baselines import word_baselines
from cseb.api.report import with_word_baselines
from cseb.tasks.words import BASELINES, baselines

TWO = ("snli@1", "clinc150@1")


def test_the_average_is_that_of_the_tasks() -> None:
    found = word_baselines(TWO)
    points = baselines([task.partition("@")[0] for task in TWO])
    assert found == {name: pytest.approx(fmean(one or 0.0 for one in points[name])) for name in BASELINES}
    assert points["TF-IDF"][0] != points["TF-IDF"][1]


def test_a_baseline_without_a_score_on_a_task_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cseb.tasks.words.baselines", lambda tasks: {"one": [1.0, 3.0], "two": [1.0, None]})
    word_baselines.cache_clear()
    assert word_baselines(TWO) == {"one": 2.0}
    word_baselines.cache_clear()


@pytest.mark.parametrize("tasks", [(), ("stsb@1",), (*TWO, "stsb@1")])
def test_other_tasks_have_none(tasks: tuple[str, ...]) -> None:
    assert word_baselines(tasks) == {}


def test_tasks_of_real_english_that_come_with_cseb_have_them_too() -> None:
    found = word_baselines(("clinc150@1",))
    assert 20 < found["mean of random word vectors"] < found["TF-IDF"] < 60


def test_below_a_table_each_protocol_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is averaged over protocols, and tasks that are not embedded have no line."""
    known = {("snli@1", "clinc150@1"): {"TF-IDF": 1.0}, ("banking77@1",): {"TF-IDF": 2.0}}
    monkeypatch.setattr(sys.modules[word_baselines.__module__], "word_baselines", lambda tasks: known.get(tasks, {}))

    def lines(*tasks: str) -> list[str]:
        protocols = {"snli@1": "a@1", "clinc150@1": "a@1", "banking77@1": "b@1", "stsb@1": "c@1"}
        study = SimpleNamespace(tasks=protocols)
        table = SimpleNamespace(tasks=tasks, study=study, noted=lambda *notes: list(notes))
        return with_word_baselines(table)  # type: ignore[arg-type, return-value]

    assert lines(*TWO) == ["Baselines without training, average over these tasks: TF-IDF 1.00."]
    assert lines(*TWO, "banking77@1", "stsb@1") == [
        "Baselines without training, average of 2 tasks: TF-IDF 1.00.",
        "Baselines without training, banking77: TF-IDF 2.00.",
    ]
    assert lines("stsb@1") == []
