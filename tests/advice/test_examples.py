"""Examples in two parts: none in both, and scores of a part."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cseb.advice.conclusion import Difference
from cseb.advice.examples import Examples, repeated
from cseb.errors import BadBenchmark, BadData
from cseb.tasks.names import parse_tasks
from cseb.tasks.retrieval import faq


@pytest.fixture
def rated(tmp_path: Path) -> Path:
    """Sixty rated pairs, of which each two share a sentence."""
    rows = [f"left {n // 2}\tright {n}\t{n % 5}" for n in range(60)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    return tmp_path / "pairs.tsv"


def labels(tmp_path: Path, count: int) -> Path:
    rows = [f"sentence {n}\t{'ab'[n % 2]}" for n in range(count)]
    (tmp_path / "labels.tsv").write_text("\n".join(["sentence\tlabel", *rows]))
    return tmp_path / "labels.tsv"


def test_a_third_selects_and_no_sentence_is_in_both_parts(rated: Path) -> None:
    selecting, deciding = Examples.read(str(rated), "").parts
    assert (len(selecting), len(deciding)) == (20, 40)
    assert not {place // 2 for place in selecting} & {place // 2 for place in deciding}


@pytest.mark.parametrize(("answers", "questions"), [(6, 20), (10, 20)])
def test_few_answers_give_no_more_false_conclusions_than_stated(answers: int, questions: int) -> None:
    """Questions with one answer are alike; counted as independent, 50 % and 14 % of the conclusions were false."""
    names = [(f"q{a} {q}", f"a{a}") for a in range(answers) for q in range(questions)]
    examples = Examples(parse_tasks("toy-dev")[0], faq(*zip(*names, strict=True), name="x"))
    part, answer = examples.parts[1], np.repeat(np.arange(answers), questions)
    rng, found = np.random.default_rng(3), 0

    def items(values: np.ndarray) -> np.ndarray:
        return np.stack([values, np.ones_like(values)], 1).astype(np.float32)

    for _ in range(300):
        before = np.clip(0.5 + 0.1 * rng.normal(size=len(names)), 0, 1)
        after = before + 0.05 * rng.normal(size=answers)[answer] + 0.07 * rng.normal(size=len(names))
        base = repeated(examples.sample("base", {0: items(before)}, part), range(5))
        seeds = {seed: items(after + 0.01 * rng.normal(size=len(names))) for seed in range(5)}
        found += Difference.between(base, examples.sample("m", seeds, part)).sign != 0
    assert found / 300 < 0.05 + 2 * (0.05 * 0.95 / 300) ** 0.5


def test_examples_that_depend_on_one_another_are_named(rated: Path, tmp_path: Path) -> None:
    assert "are clustered; clusters: pairs.tsv 30 of 60 (largest 3.333 %)." in Examples.read(str(rated), "").notes()[1]
    rows = [f"question {n}\tanswer {min(n, 40)}" for n in range(60)]
    (tmp_path / "faq.tsv").write_text("\n".join(["question\tanswer", *rows]))
    [parts, doubt] = Examples.read(str(tmp_path / "faq.tsv"), "").notes()
    assert parts == "20 examples select pooling and method, 40 others decide."
    assert doubt.endswith("not clustered, as one cluster holds 33.33 % of its items; intervals may be too narrow.")


def test_a_correlation_is_that_of_the_pairs_of_the_part(rated: Path) -> None:
    examples = Examples.read(str(rated), "")
    cosines = np.random.default_rng(0).random(60).astype(np.float32)
    scores = [examples.sample("x", {7: cosines}, part).points[7] for part in examples.parts]
    gold = np.arange(60) % 5
    assert scores == pytest.approx([100 * stats.spearmanr(cosines[p], gold[p]).statistic for p in examples.parts])


def test_an_accuracy_is_that_of_the_sentences_of_the_part(tmp_path: Path) -> None:
    examples = Examples.read(str(labels(tmp_path, 60)), "")
    predicted = (np.random.default_rng(0).random(60) < 0.5).astype(np.float32)
    hits = predicted == np.arange(60) % 2
    for part in examples.parts:
        sample = examples.sample("x", {0: predicted}, part)
        assert sample.points[0] == pytest.approx(100 * hits[part].mean())
        assert sample.contributions[0] @ sample.contributions[0] == pytest.approx(1e4 * hits[part].var() / len(part))


def test_an_average_precision_is_that_of_the_pairs_of_the_part(tmp_path: Path) -> None:
    rows = [f"left {n}\tright {n}\t{'no' if n % 3 else 'yes'}" for n in range(60)]
    (tmp_path / "pairs.tsv").write_text("\n".join(["question1\tquestion2\tis_duplicate", *rows]))
    examples = Examples.read(str(tmp_path / "pairs.tsv"), "")
    cosines = np.random.default_rng(0).random(60).astype(np.float32)
    for part in examples.parts:
        yes = (part % 3 == 0)[np.argsort(-cosines[part])]
        precisions = (np.cumsum(yes) / np.arange(1, len(part) + 1))[yes]
        assert examples.sample("x", {0: cosines}, part).points[0] == pytest.approx(100 * precisions.mean())


def test_too_few_examples_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadData, match="has 29 examples; 30 or more are needed"):
        Examples.read(str(labels(tmp_path, 29)), "")


@pytest.mark.parametrize("word", ["sts", "stsb,sickr", "snli,banking77"])
def test_several_tasks_cannot_decide(word: str) -> None:
    with pytest.raises(BadBenchmark, match="give one file or task"):
        Examples.read(word, "")


def test_vectors_without_a_score_are_refused_or_told(rated: Path) -> None:
    examples, failures = Examples.read(str(rated), ""), dict[str, str]()
    constant = {"crops": {0: np.ones(60, dtype=np.float32)}}
    with pytest.raises(BadData, match="undefined"):
        examples.scored(constant)
    assert examples.scored(constant, failures) == {} and "undefined" in failures["crops"]


def test_texts_that_are_training_sentences_are_counted(rated: Path) -> None:
    assert Examples.read(str(rated), "").overlap({"left 0", "right 3", "other"}) == (90, 2)
