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
    found = domains.sentences("intents", None)
    assert len(found) > 2_900
    clinc = load_task("clinc150", None)
    assert not {" ".join(text.split()) for text in clinc.queries} & set(found)  # type: ignore[attr-defined]


def test_missing_files_are_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sys.argv", ["domains", "--data-dir", str(tmp_path / "none"), "--to", str(tmp_path), "--domains", "cr"]
    )
    with pytest.raises(SystemExit, match="2"):
        domains.main()
    text = capsys.readouterr().err
    assert text.startswith("domains: ")
    assert text.count("\n") == 1
