"""The evaluator: every distinct sentence is encoded once, and a wrong answer of the encoder is noticed."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from cseb.errors import CsebError, UnknownName
from cseb.tasks.evaluate import load_task, score_all, score_each
from cseb.tasks.pairs import Pairs, RatedPairs
from cseb.tasks.senteval import STS


def lengths(sentences: Sequence[str]) -> npt.NDArray[np.float32]:
    return np.array([[len(sentence), 1 + sentence.count("a")] for sentence in sentences], dtype=np.float32)


ONE = RatedPairs((Pairs("x", ["a", "bb", "a"], ["bb", "ccc", "aaaa"], [1, 2, 3]),))
TWO = RatedPairs((Pairs("y", ["a", "d"], ["aaaa", "bb"], [0, 5]),))
TASKS = [(STS("one"), ONE), (STS("two"), TWO)]


def test_one_call_with_every_distinct_sentence_once() -> None:
    calls = []

    def embed(sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        calls.append(list(sentences))
        return lengths(sentences)

    outcomes = score_all(TASKS, embed)
    assert calls == [["a", "aaaa", "bb", "ccc", "d"]]
    for (outcome, items), (_, loaded) in zip(outcomes, TASKS, strict=True):
        alone = loaded.items(lengths)
        assert items.tolist() == alone.tolist()
        assert outcome == loaded.outcome(alone)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda sentences: lengths(sentences)[1:], r"returned \(4, 2\) for a batch of 5; \(5, width\) is needed"),
        (lambda sentences: lengths(sentences)[:, 0], r"returned \(5,\) for a batch of 5"),
        (lambda sentences: lengths(sentences)[:, :0], r"returned \(5, 0\) for a batch of 5"),
        (lambda sentences: lengths(sentences).tolist(), "returned list for a batch of 5"),
        (lambda sentences: lengths(sentences).astype(int), "vectors of int64; floating-point"),
    ],
)
def test_anything_but_one_vector_each_is_answered(wrong: object, message: str) -> None:
    with pytest.raises(CsebError, match=message):
        score_all(TASKS, wrong)


def test_vectors_that_are_not_finite_are_a_collapsed_encoder() -> None:
    assert [each.value for each, _ in score_all(TASKS, lambda s: lengths(s) * np.float32("nan"))] == [None, None]


def test_a_task_may_only_ask_for_what_it_has_listed() -> None:
    class Sly(RatedPairs):
        def sentences(self) -> list[str]:
            return ["a"]

    with pytest.raises(CsebError, match="task sly asks for 'bb', which is missing from its sentences"):
        score_all([(STS("sly"), Sly(ONE.subsets))], lengths)


def test_data_are_loaded_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loads = []

    def load(self: STS, data_dir: Path | None) -> RatedPairs:
        loads.append((self.name, data_dir))
        return ONE

    monkeypatch.setattr(STS, "load", load)
    assert load_task("stsb", tmp_path) is load_task("stsb", tmp_path)
    load_task("stsb", tmp_path / "other")
    assert loads == [("stsb", tmp_path), ("stsb", tmp_path / "other")]
    load_task.cache_clear()  # nobody else shall get these
    with pytest.raises(UnknownName):
        load_task("nothing", None)


def test_an_encoder_that_looks_at_its_company_sees_the_sentences_of_one_protocol() -> None:
    calls = []

    def embed(sentences: Sequence[str]) -> npt.NDArray[np.float32]:
        calls.append(list(sentences))
        return np.eye(len(sentences), 3 + len(calls), dtype=np.float32)  # another width each time, as TF-IDF has

    other = STS("three", protocol="another@1")
    result = score_each([*TASKS, (other, TWO), (STS("four"), ONE)], embed, alone=False)
    assert calls == [["a", "aaaa", "bb", "ccc", "d"], ["a", "aaaa", "bb", "d"]]
    assert len(result) == 4
    assert [len(each[1]) for each in result if isinstance(each, tuple)] == [3, 2, 2, 3]  # in the order of the tasks
