"""Judges: two parts without a common item, made of files that are ordinary tasks."""

from pathlib import Path

import numpy as np
import pytest

from cseb.advice import judges
from cseb.advice.trust import RAW, SENTENCE, best_label_free, kind_of, measured
from cseb.errors import BadBenchmark, BadData
from cseb.methods.grammar import parse_method
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Loaded

SENTENCES = [" ".join(f"{word}{n}" for word in "abcdefghij") for n in range(120)]


def parts(judge: judges.Judge) -> tuple[Loaded, Loaded]:
    first, second = (load_task(parse_tasks(words)[0], None) for words in (judge.choose, judge.decide))
    return first, second


def ratings(path: Path, count: int, score: str = "") -> str:
    """Pairs of which every third shares a sentence with the one before it."""
    rows = [f"left {n - (n % 3 == 1)}\tright {n}\t{score or n % 5}" for n in range(count)]
    path.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]) + "\n")
    return str(path)


def test_rated_pairs_are_split_without_a_common_sentence(tmp_path: Path) -> None:
    judge = judges.rated(ratings(tmp_path / "mine.tsv", 90), tmp_path)
    first, second = parts(judge)
    assert not set(first.sentences()) & set(second.sentences())
    assert len(first.clusters()) + len(second.clusters()) == 90
    assert 20 <= len(first.clusters()) <= 30
    assert "90 rated pairs" in judge.by


@pytest.mark.parametrize(("count", "score", "said"), [(1, "", "has 1 rated pair; 20"), (40, "3", "rates every pair 3")])
def test_pairs_that_cannot_judge_are_refused(tmp_path: Path, count: int, score: str, said: str) -> None:
    with pytest.raises(BadData, match=said):
        judges.rated(ratings(tmp_path / "mine.tsv", count, score), tmp_path)


@pytest.mark.parametrize("kind", judges.LABEL_FREE)
def test_judges_without_labels_are_retrieval_tasks_on_disjoint_sentences(tmp_path: Path, kind: str) -> None:
    judge = judges.LABEL_FREE[kind](SENTENCES, tmp_path)
    first, second = parts(judge)
    assert not set(first.sentences()) & set(second.sentences())
    assert judge.name == kind
    again = judges.LABEL_FREE[kind](SENTENCES, tmp_path)
    assert again == judge


def test_too_few_held_out_sentences_cannot_judge(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="too few to judge by"):
        judges.crops(SENTENCES[:20], tmp_path)


def test_a_teacher_gives_every_sentence_its_neighbour_and_agrees_with_itself(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    sentences = SENTENCES[: len(SENTENCES) // 2 * 2]
    places = np.repeat(rng.normal(size=(len(sentences) // 2, 32)), 2, axis=0)
    near = places + 0.01 * rng.normal(size=places.shape)  # two and two lie together
    vectors = dict(zip(sentences, near.astype(np.float32), strict=True))
    judge = judges.teacher("T", lambda texts: np.stack([vectors[text] for text in texts]), sentences, tmp_path)
    found = [
        line.split("\t")
        for part in ("choose", "decide")
        for line in (tmp_path / f"teacher-{part}.tsv").read_text().splitlines()[1:]
    ]
    partners = {frozenset(sentences[place : place + 2]) for place in range(0, len(sentences), 2)}
    assert set(map(frozenset, found)) == partners
    for words in (judge.choose, judge.decide):
        task = load_task(parse_tasks(words)[0], None)
        own = task.items(lambda texts: np.stack([vectors[text] for text in texts]))
        other = task.items(lambda texts: rng.normal(size=(len(texts), 32)).astype(np.float32))
        assert task.outcome(own).value == pytest.approx(100)
        assert (task.outcome(other).value or 0) < 50


def test_who_learns_from_a_teacher_is_not_judged_by_it() -> None:
    taught = parse_method("distil-l2+outside_teacher(encoder='x')")
    assert judges.trained_for("teacher", taught) == "outside_teacher"
    assert not judges.trained_for("edits", taught)
    assert judges.trained_for("edits", parse_method("tsdae")) == "delete"
    assert not judges.trained_for("rated", parse_method("crops"))


def test_named_tasks_choose_by_their_development_sets_where_all_have_one() -> None:
    assert judges.named("snli").choose == "snli-dev"
    assert judges.named("mw-captions,mw-forum").same_items
    with pytest.raises(BadBenchmark, match="measured in different ways"):
        judges.named("snli,clinc150")
    with pytest.raises(BadBenchmark, match="lower is better"):
        judges.named("mw-uniformity")


def figures(path: Path, *rows: str) -> Path:
    path.write_text("\n".join(["start,judge,human,rho,low,high,methods,origin", *rows]) + "\n")
    return path


def test_a_judge_whose_interval_includes_zero_gives_no_advice(tmp_path: Path) -> None:
    path = figures(tmp_path / "a.csv", "raw,crops,all,0.3,-0.1,0.6,12,here", "raw,crops,snli,0.9,0.8,1,12,here")
    known = measured(RAW, path)
    with pytest.raises(BadBenchmark, match=r"0\.30 \(-0\.10 to 0\.60\).*--ask 60"):
        best_label_free(known)
    path = figures(
        tmp_path / "b.csv",
        *("raw,crops,all,0.6,0.2,0.8,12,x", "raw,edits,all,0.9,0.1,0.95,12,x", "sentence,crops,all,0.9,-0.2,1,12,x"),
    )
    assert best_label_free(measured(RAW, path)) == "crops"
    with pytest.raises(BadBenchmark, match=r"12 methods that start from a sentence encoder"):
        best_label_free(measured(SENTENCE, path))


def test_a_folder_of_sentence_transformers_is_a_sentence_encoder(tmp_path: Path) -> None:
    assert kind_of(tmp_path) == RAW
    (tmp_path / "modules.json").write_text("[]")
    assert kind_of(tmp_path) == SENTENCE
