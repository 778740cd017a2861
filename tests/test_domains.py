"""Unlabelled sentences of domains: all of a task's, once, in an order that knows no label."""

from pathlib import Path

import pytest

from benchmarks import domains
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_tasks


def test_a_file_has_every_sentence_once_and_no_label(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["domains", "--to", str(tmp_path / "new"), "--domains", "banking77"])
    domains.main()
    lines = (tmp_path / "new" / "banking77.txt").read_text(encoding="utf-8").splitlines()
    (task,) = parse_tasks("banking77")
    texts = [" ".join(sentence.split()) for sentence in load_task(task, None).sentences()]
    assert len(lines) == len(set(lines)) == 2_849
    assert set(lines) == set(texts)
    assert lines != texts


def test_intents_are_training_sentences_alone() -> None:
    result = domains.sentences("intents", None)
    assert len(result) > 2_900
    clinc = load_task("clinc150", None)
    assert not {" ".join(text.split()) for text in clinc.queries} & set(result)
