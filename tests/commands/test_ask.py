"""The dialogue, with keys that come from a pipe."""

import io
from pathlib import Path

import pytest

from cseb.advice.questions import Answers, Question
from cseb.commands.ask import ask

PAIRS = [("a man eats", "a man is eating"), ("a dog", "the sea"), ("two cats", "cats, two of them")]
QUESTIONS = [Question(0, 1, 1.0, "choose"), Question(1, 2, 1.0, "decide"), Question(2, 0, 1.0, "decide")]


def typed(monkeypatch: pytest.MonkeyPatch, folder: Path, keys: str) -> Answers:
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{key}\n" for key in keys)))
    found = Answers.read(folder, len(PAIRS)) or Answers.new(folder, QUESTIONS)
    ask(found, PAIRS)
    return found


def test_one_key_answers_and_shows_both_pairs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert typed(monkeypatch, tmp_path, "1s2").answers == ["1", "s", "2"]
    shown = capsys.readouterr().out
    assert "1 of 3" in shown
    assert all(sentence in shown for pair in PAIRS for sentence in pair)


def test_undo_goes_one_back_and_a_wrong_key_is_asked_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert typed(monkeypatch, tmp_path, "u1u2x12").answers == ["2", "1", "2"]


@pytest.mark.parametrize("end", ["1q", "1"])
def test_stopped_it_goes_on_where_it_was(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, end: str) -> None:
    with pytest.raises(KeyboardInterrupt):
        typed(monkeypatch, tmp_path, end)
    assert typed(monkeypatch, tmp_path, "22").answers == ["1", "2", "2"]
