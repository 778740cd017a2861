"""What counting words and word embeddings reach: the figures that `cseb eval` gives of both."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cseb.advice.word_baselines import COUNTED, STATIC, word_baselines
from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks


def test_both_are_scored_as_anything_else_is() -> None:
    tasks = parse_tasks("mw-captions,mw-questions")
    loaded = [(task, load_task(task, None)) for task in tasks]

    def mean(name: str) -> float:
        values = [outcome.value for outcome, _ in score_all(loaded, find(name, EncoderOptions(device="cpu")).open())]
        return sum(value or 0.0 for value in values) / len(values)

    found = word_baselines("mw-captions,mw-questions", "", "microworld")
    assert found == pytest.approx({COUNTED: mean("words:tf-idf"), STATIC: mean("static:microworld")})


def test_a_table_of_vectors_has_counted_words_alone(tiny: Callable[[str], Path]) -> None:
    assert list(word_baselines("mw-captions", "", "static:microworld")) == [COUNTED]
    assert list(word_baselines("mw-captions", "", str(tiny("bert") / "missing"))) == [COUNTED]
