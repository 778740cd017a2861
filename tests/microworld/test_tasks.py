"""The tasks: scores from frames, all levels, pinned."""

import hashlib
from collections import Counter

import numpy as np
import pytest
from scipy.stats import spearmanr

import cseb.microworld as mw

PINNED = "b9ac688552d35ac8bfcecae9aa7aebd453673531ac2ce35dd3fc876c1f6d4e2b"


def test_all_tasks_are_pinned() -> None:
    rows = [
        f"{a}\t{b}\t{score:.2f}" for name in (*mw.TASKS, mw.DEV) for a, b, score in zip(*mw.pairs(name), strict=True)
    ]
    assert hashlib.sha256("\n".join(rows).encode()).hexdigest() == PINNED


@pytest.mark.parametrize("name", [*mw.TASKS, mw.DEV])
def test_levels_are_equally_frequent(name: str) -> None:
    left, right, gold = mw.pairs(name)
    assert len(left) == len(right) == len(gold) == (400 if name == mw.DEV else 500)
    assert 0 <= min(gold) <= max(gold) == 5
    assert np.unique(np.minimum(np.floor(gold), 4), return_counts=True)[1].tolist() == [len(gold) // 5] * 5


@pytest.mark.parametrize("name", [*mw.TASKS, mw.DEV])
def test_sentences_of_a_pair_differ_and_pairs_are_distinct(name: str) -> None:
    left, right, _ = mw.pairs(name)
    assert all(a != b for a, b in zip(left, right, strict=True))
    assert len(set(zip(left, right, strict=True))) == len(left)
    assert all(5 <= len(text.split()) <= 25 for text in left + right)


def test_few_distinct_sentences_keep_evaluation_cheap() -> None:
    assert len({text for name in mw.TASKS for text in (*mw.pairs(name).left, *mw.pairs(name).right)}) < 3500


@pytest.mark.parametrize("name", mw.TASKS)
def test_shared_words_alone_say_little(name: str) -> None:
    left, right, gold = mw.pairs(name)
    words = [(set(a.lower().split()), set(b.lower().split())) for a, b in zip(left, right, strict=True)]
    overlap = [len(a & b) / len(a | b) for a, b in words]
    assert spearmanr(overlap, gold).statistic < 0.4


def test_an_unknown_task_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        mw.pairs("mw-nothing")


def test_labels_are_balanced_and_sentences_distinct() -> None:
    found = mw.labelled()
    assert set(Counter(found.labels).values()) == {100}
    assert len(set(found.sentences)) == len(found.sentences) == 100 * len(found.names)


def test_every_query_has_its_own_document() -> None:
    found = mw.queries()
    assert len(found.queries) == len(set(found.queries)) == len(found.relevant) == 150
    assert len(found.documents) == len(set(found.documents)) == 450
    assert len(set(found.relevant)) == 150
