"""Anything that embeds, scored as in a notebook."""

from pathlib import Path

import numpy as np
import pytest

import cseb
from cseb.errors import BadSpec
from cseb.records.store import Store
from tests.command_line import printed


def lengths(sentences: list[str]) -> list[list[int]]:
    return [[len(sentence), sentence.count("a"), sentence.count("e"), 1] for sentence in sentences]


class Model:
    """As sentence-transformers has it."""

    def encode(self, sentences: list[str], batch_size: int = 32) -> np.ndarray:
        return np.array(lengths(sentences), dtype=np.float64)


def test_a_function_an_object_and_a_name_are_scored_alike() -> None:
    by_function = cseb.evaluate(lengths, tasks=["toy-dev", "toy-captions"])
    by_object = cseb.evaluate(Model(), tasks="toy-dev,toy-captions")
    assert dict(by_function) == dict(by_object)
    assert list(by_function) == ["toy-dev", "toy-captions"]
    assert by_function.average == pytest.approx(np.mean([round(score, 2) for score in by_function.values()]))
    assert by_function.record.encoder.name == "lengths"


def test_scores_print_as_a_table_and_come_as_a_frame() -> None:
    scores = cseb.evaluate(lengths, tasks="toy-dev")
    assert str(scores).splitlines()[0].split() == ["toy-dev", "Avg."]
    frame = scores.frame()
    assert list(frame.columns) == ["task", "score", "protocol", "items", "failed"]
    assert frame.score[0] == scores["toy-dev"]
    with pytest.raises(KeyError):
        scores["stsb"]


def test_the_command_line_gives_the_same_numbers_and_the_same_record(tmp_path: Path) -> None:
    results = tmp_path / "results"
    scores = cseb.evaluate("cseb-tiny", tasks="toy-dev", pooler="mean", device="cpu", results=results)
    said = printed(
        "eval", "cseb-tiny", "--tasks", "toy-dev", "--pooler", "mean", "--device", "cpu", "--results", str(results)
    )
    assert "was there already" in said
    assert str(scores) in said
    again = cseb.evaluate("cseb-tiny", tasks="toy-dev", pooler="mean", device="cpu", results=results)
    assert again.reused
    assert again.stored == results
    assert len(Store(results).keys()) == 1


def test_nothing_is_written_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert cseb.evaluate(lengths, tasks="toy-dev").stored is None
    assert not list(tmp_path.iterdir())


def test_tasks_of_different_protocols_have_no_average() -> None:
    shown = str(cseb.evaluate(lengths, tasks="toy-dev,snli-dev")).splitlines()
    assert shown[0].split() == ["toy-dev", "snli-dev"]
    assert shown[-1].startswith("No average: the tasks have different protocols (")


def test_what_is_no_encoder_is_refused() -> None:
    with pytest.raises(BadSpec, match="a int cannot be evaluated"):
        cseb.evaluate(3, tasks="toy-dev")  # refusals of functions are those of the command, see test_eval.py
    with pytest.raises(BadSpec, match="leave it out"):
        cseb.evaluate(lengths, tasks="toy-dev", pooler="mean")
