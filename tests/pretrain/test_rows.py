"""Rows to pre-train on: what stands in them, and that a pass is a function of seed and number alone."""

from argparse import Namespace
from collections.abc import Iterator
from functools import partial

import numpy as np
import pytest

from benchmarks.pretrain.masked_words import MASK, MASKED, SPECIAL, Bert, masked
from benchmarks.pretrain.objective import batches
from benchmarks.pretrain.rows import CLS, LONG, SEP, SHORT, UNRELATED, Rows, TokenisedText, rows_of_pass
from benchmarks.pretrain.sources import BadText, sentences_of
from benchmarks.pretrain.train import rate

PIECES = 5000


@pytest.fixture(scope="module")
def text() -> TokenisedText:
    """200 documents of 40 sentences; every token is its place, so that rows tell where they are from."""
    rng = np.random.default_rng(0)
    sentences = np.concatenate([[0], np.cumsum(rng.integers(3, 30, 200 * 40))])
    ids = (SPECIAL + np.arange(sentences[-1]) % (PIECES - SPECIAL)).astype(np.uint16)
    return TokenisedText(ids, sentences, np.arange(0, 200 * 40 + 1, 40), np.arange(200) < 150)


def long_rows(text: TokenisedText, start: int = 0) -> Iterator[Rows]:
    return batches(partial(rows_of_pass, text, LONG, 0), text, 0, 1024, start)


def test_a_second_segment_follows_the_first_as_its_label_says(text: TokenisedText) -> None:
    seen = {0: 0, 1: 0, UNRELATED: 0}
    for rows in rows_of_pass(text, LONG, 0, 0):
        assert rows.ids.shape[1] in LONG
        for ids, first, follows in zip(rows.ids, rows.first, rows.follows, strict=True):
            assert (ids[0], ids[first - 1], ids[-1]) == (CLS, SEP, SEP)
            assert (ids[1 : first - 1] >= SPECIAL).all()
            assert (ids[first:-1] >= SPECIAL).all()
            assert 0.75 * (len(ids) - 3) >= first - 2 > 0
            steps = (int(ids[first]) - int(ids[first - 2])) % (PIECES - SPECIAL)
            assert follows == UNRELATED or (steps == 1) == (follows == 1)
            seen[int(follows)] += 1
    assert 0.4 < seen[1] / (seen[0] + seen[1]) < 0.55
    assert 0.2 < seen[UNRELATED] / sum(seen.values()) < 0.3


def test_passes_differ_and_come_back(text: TokenisedText) -> None:
    one, again, other = (rows_of_pass(text, LONG, 0, number) for number in (0, 0, 1))
    assert all(np.array_equal(a.ids, b.ids) for a, b in zip(one, again, strict=True))
    assert not all(np.array_equal(a.ids, b.ids) for a, b in zip(one, other, strict=True))


def test_batches_go_on_where_they_were(text: TokenisedText) -> None:
    whole, rest = long_rows(text), long_rows(text, start=150)  # more than a pass
    for _ in range(150):
        next(whole)
    for _ in range(5):
        assert np.array_equal(next(whole).ids, next(rest).ids)


def test_a_run_has_short_rows_first_and_goes_on_where_it_was(text: TokenisedText) -> None:
    bert, options = Bert(2, 8, 2), Namespace(seed=0, tokens=1024)
    whole = [rows.ids for rows, _ in zip(bert.rows(text, options, 200, 0), range(200), strict=False)]
    assert {ids.shape[1] for ids in whole[:140]} == set(SHORT)
    assert {ids.shape[1] for ids in whole[140:]} == set(LONG)
    for done in (100, 150):
        rest = bert.rows(text, options, 200, done)
        assert all(np.array_equal(next(rest).ids, ids) for ids in whole[done:])


def test_fifteen_of_a_hundred_tokens_are_hidden_and_four_fifths_of_them_shown_as_mask(text: TokenisedText) -> None:
    (rows, *_) = rows_of_pass(text, LONG, 0, 0)
    batch = masked(rows, PIECES, np.random.default_rng(0))
    ids, places, words = batch.ids.numpy(), batch.places.numpy(), batch.words.numpy()
    assert places.shape[1] == round(MASKED * ids.shape[1])
    hidden = np.take_along_axis(rows.ids.astype(np.int64), places, 1)
    assert np.array_equal(hidden, words)
    assert (hidden >= SPECIAL).all()
    shown = np.take_along_axis(ids, places, 1)
    assert abs((shown == MASK).mean() - 0.8) < 0.01
    assert abs((shown == words).mean() - 0.1) < 0.01
    untouched = np.ones(ids.shape, dtype=bool)
    np.put_along_axis(untouched, places, False, 1)
    assert np.array_equal(ids[untouched], rows.ids[untouched])
    assert np.array_equal(batch.segments.numpy().sum(1), ids.shape[1] - rows.first)


def test_the_rate_climbs_and_falls_to_nothing() -> None:
    assert [rate(step, 100, 1.0) for step in (0, 4, 5, 99)] == pytest.approx([0.2, 1.0, 1.0, 1 / 95])


@pytest.mark.parametrize(
    ("paragraph", "found"),
    [
        ("He paused. He turned.", ["He paused.", "He turned."]),
        ('"Go!" she cried. "Why?" He left.', ['"Go!" she cried.', '"Why?"', "He left."]),
        (
            "Mr. Blood met J. A. Cuddon, i.e. Him. Then 3.5 of No. 7 fell.",
            ["Mr. Blood met J. A. Cuddon, i.e. Him.", "Then 3.5 of No. 7 fell."],
        ),
        ("no end", ["no end"]),
    ],
)
def test_sentences_end_where_a_reader_says(paragraph: str, found: list[str]) -> None:
    assert sentences_of(paragraph) == found


def test_little_text_is_enough_or_said_to_be_too_little(text: TokenisedText) -> None:
    one = TokenisedText(text.ids[: text.sentences[40]], text.sentences[:41], text.documents[:2], text.linked[:1])
    assert next(long_rows(one)).ids.size
    none = TokenisedText(text.ids[:20], text.sentences[:2], np.array([0, 1]), text.linked[:1])
    with pytest.raises(BadText, match="20 tokens of text do not fill one row"):
        next(long_rows(none))
