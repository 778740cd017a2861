"""Recommendations for domains with hidden labels: who answers from them, and what a row of the table says."""

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from benchmarks import recommend_trials as trials
from cseb.advice.questions import FIRST, SECOND, SKIPPED, Answers, Question
from cseb.errors import BadBenchmark
from cseb.tasks.evaluate import load_task

TRIAL = trials.Trial(
    domain="cr", encoder="e", start="raw", judge="edits", verdict="crops: +2.0", finding="helps", chosen="crops",
    baseline="mean", gain=2.0, low=1.0, high=3.0, minutes=9.5, budget=10.0,
    by_labels={"mean": 70.0, "cls": 60.0, "crops": 69.0, "ct": 72.5},
)  # fmt: skip


def test_who_follows_may_lose_by_labels_and_may_miss_the_best() -> None:
    assert (TRIAL.followed(), TRIAL.missed()) == (-1.0, 3.5)
    kept = replace(TRIAL, chosen="mean", finding="harms")
    assert (kept.followed(), kept.missed()) == (0.0, 2.5)
    assert trials._row(kept)[3:6] == ("harms", "keep mean", "+2.0 (+1.0 to +3.0)")
    assert trials._row(replace(TRIAL, gain=None, low=None, high=None))[5] == "--"


def test_answers_follow_the_labels_and_nothing_else(tmp_path: Path) -> None:
    loaded = load_task("banking77", None)
    by_label: dict[int, list[str]] = {}
    for part in loaded.parts:
        for (text, *_), label in zip(part.texts, part.labels, strict=True):
            by_label.setdefault(label, []).append(" ".join(text.split()))
    one, other = [texts for texts in by_label.values() if len(texts) > 3][:2]
    pairs = [(one[0], one[1]), (one[2], other[0]), (other[1], other[2])]
    places = [(0, 1), (1, 0), (0, 2), (1, 2)]
    answers = Answers.new(tmp_path, [Question(first, second, 1.0, "choose") for first, second in places])
    trials.answers_of("banking77", None)(answers, pairs)
    assert answers.answers == [FIRST, SECOND, SKIPPED, SECOND]
    with pytest.raises(BadBenchmark, match="no classes to answer from"):
        trials.answers_of("snli", None)


def test_the_table_is_written_between_its_marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "records" / "raw" / "cr"
    place.mkdir(parents=True)
    (place / trials.OUTCOME).write_text(json.dumps(asdict(TRIAL)))
    begun = place.with_name("trec")
    begun.mkdir()
    (begun / trials.OUTCOME).write_text(json.dumps({"domain": "trec"}))  # labels are still missing
    monkeypatch.setattr(trials, "PAGE", tmp_path / "README.md")
    monkeypatch.setattr(trials, "TABLE", tmp_path / "trials.csv")
    trials.PAGE.write_text(f"# Trials\n\n{trials.MARKER}old\n<!-- end -->\n\nafter\n")
    trials.read(tmp_path / "records")
    page = trials.PAGE.read_text()
    assert page.startswith("# Trials\n\n")
    assert page.endswith("<!-- end -->\n\nafter\n")
    assert "old" not in page
    assert "-1.00" in page
    assert len(trials.TABLE.read_text().splitlines()) == 1 + len(TRIAL.by_labels)
    trials.read(tmp_path / "records")
    assert trials.PAGE.read_text() == page
