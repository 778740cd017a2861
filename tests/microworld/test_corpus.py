"""The corpora: the same everywhere, distinct, of the promised length, apart from the tasks."""

import hashlib
import subprocess
import sys
from itertools import islice

import pytest

import cseb.microworld as mw
from cseb.microworld.tasks import all_sentences

SENTENCES = "2b62d007a85f7bf07472a148c79132d599efb7a05fffc2afec97a48fa99ec156"
GENERAL = "3d9ee7ba0151ff7a9af814e4d7c0811bf1375f6b4934cd57b299328e383928a5"


def digest(texts: list[str]) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def test_the_first_sentences_are_pinned() -> None:
    assert digest(list(mw.sentences(2000))) == SENTENCES


def test_the_first_general_sentences_are_pinned() -> None:
    assert digest(list(mw.general_sentences(2000))) == GENERAL


def test_a_longer_corpus_begins_with_the_shorter_one() -> None:
    assert list(mw.sentences(300)) == list(islice(mw.sentences(10_000), 300))


def test_another_seed_gives_other_sentences() -> None:
    one, other = set(mw.sentences(500)), set(mw.sentences(500, seed=1))
    assert len(one & other) < 25


def test_sentences_are_distinct_and_have_5_to_25_words() -> None:
    texts = list(mw.sentences(4000))
    assert len(set(texts)) == 4000
    assert all(5 <= len(text.split()) <= 25 for text in texts)
    assert all(text == " ".join(text.split()) for text in texts)


def test_no_sentence_of_a_task_is_in_a_corpus() -> None:
    held = all_sentences() | set(mw.labelled().sentences) | set(mw.queries().queries) | set(mw.queries().documents)
    assert not held & set(mw.sentences(10_000))
    assert not held & set(mw.general_sentences(2000))


def test_dev_and_test_share_no_sentence() -> None:
    assert not all_sentences(mw.TASKS) & all_sentences([mw.DEV])


def test_no_sentence_asked_for_is_no_sentence() -> None:
    assert list(mw.sentences(0)) == []


def test_the_order_of_hashes_does_not_matter() -> None:
    code = "import cseb.microworld as mw; print('\\n'.join(mw.sentences(200)))"
    found = {
        subprocess.run(
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {"\n".join(mw.sentences(200)) + "\n"}


@pytest.mark.slow
def test_a_hundred_thousand_sentences_are_distinct() -> None:
    assert len(set(mw.sentences(100_000))) == 100_000
