"""Subsets: the same everywhere, nested for one seed, another one for another seed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cseb.data.corpus import pack, read_corpus
from cseb.data.subset import draw, order, size_of, subset_sha256, write_subset
from cseb.errors import BadBenchmark, BadResults

SEEDS = st.integers(0, 2**40)


def test_the_order_is_pinned() -> None:
    assert order(10, 0).tolist() == [1, 2, 3, 8, 5, 9, 7, 0, 4, 6]
    assert order(10, 1).tolist() == [8, 7, 6, 2, 5, 3, 4, 0, 1, 9]


@given(st.integers(1, 200), SEEDS, st.data())
def test_a_smaller_draw_is_the_beginning_of_a_larger_one(count: int, seed: int, data: st.DataObject) -> None:
    small, large = sorted(data.draw(st.tuples(st.integers(1, count), st.integers(1, count))))
    assert draw(count, small, seed).tolist() == draw(count, large, seed).tolist()[:small]
    assert sorted(draw(count, count, seed)) == list(range(count))


@pytest.mark.parametrize(
    ("fraction", "count", "size"),
    [(1, 7, 7), (0.001, 1_000_000, 1000), (0.29, 50, 15), (0.5, 5, 3), (0.1, 5, 1), (0.3, 10, 3), (5e-7, 10**6, 1)],
)
def test_halves_are_rounded_up(fraction: float, count: int, size: int) -> None:
    assert size_of(fraction, count) == size


def test_a_fraction_of_less_than_a_sentence_is_answered() -> None:
    with pytest.raises(BadBenchmark, match=r"0\.001 of 100 sentences is less than one; take 0\.01 or more"):
        size_of(0.001, 100)


@pytest.mark.parametrize("size", [0, -1, 6])
def test_a_draw_needs_a_size_that_the_corpus_has(size: int) -> None:
    with pytest.raises(BadBenchmark, match=f"a subset of {size} sentences is asked for; the corpus allows 1 to 5"):
        draw(5, size, 0)


def test_a_written_subset_reads_back_and_says_what_it_is(tmp_path: Path) -> None:
    corpus = pack("mine", [f"Sentence {number}." for number in range(40)])
    write_subset(tmp_path / "new" / "few.txt", corpus, 10, seed=3)
    beside = tmp_path / "new" / "few.txt.json"
    back, manifest = read_corpus(str(tmp_path / "new" / "few.txt")), json.loads(beside.read_text())
    assert list(back) == corpus.take(draw(40, 10, 3)) == corpus.take(manifest["indices"])
    assert back.sha256 == subset_sha256(back) == manifest["subset_sha256"]
    assert (manifest["corpus"], manifest["corpus_sha256"], manifest["corpus_size"]) == ("mine", corpus.sha256, 40)
    assert (manifest["seed"], manifest["size"], manifest["fraction"]) == (3, 10, 0.25)
    assert {each.name for each in beside.parent.iterdir()} == {"few.txt", "few.txt.json"}


def test_a_subset_never_replaces_its_corpus(tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_text("a\nb\nc\n")
    corpus = read_corpus(str(tmp_path / "all.txt"))
    with pytest.raises(BadBenchmark, match=r"all\.txt is the corpus itself"):
        write_subset(tmp_path / "." / "all.txt", corpus, 1, seed=0)
    assert (tmp_path / "all.txt").read_text() == "a\nb\nc\n"
    assert [each.name for each in tmp_path.iterdir()] == ["all.txt"]
    for _ in range(2):  # the same subset may be written again
        write_subset(tmp_path / "few.txt", corpus, 1, seed=0)


def test_a_subset_that_cannot_be_written_is_answered(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(BadResults, match="cannot be written"):
        write_subset(tmp_path / "file" / "few.txt", pack("mine", ["a"]), 1, seed=0)
