"""Tests of the rows that models are pre-trained on."""

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml

from benchmarks.pretrain.masked_words import MASK, MASKED, SPECIAL, Batch, Bert, masked
from benchmarks.pretrain.objective import CHUNK
from benchmarks.pretrain.rows import CLS, LONG, SEP, SHORT, UNRELATED, TokenisedText, draw_rows
from benchmarks.pretrain.sources import LISTED, BadText

PIECES = 5000
LINKED = 150  # of 200 documents


@pytest.fixture(scope="module")
def text() -> TokenisedText:
    """200 documents of 40 sentences; a token is the place where it stands, so that rows show where they are from."""
    rng = np.random.default_rng(0)
    sentences = np.concatenate([[0], np.cumsum(rng.integers(3, 30, 200 * 40))])
    ids = (SPECIAL + np.arange(sentences[-1]) % (PIECES - SPECIAL)).astype(np.uint16)
    return TokenisedText(ids, sentences, np.arange(0, 200 * 40 + 1, 40), np.arange(200) < LINKED, np.ones(200))


def batches(text: TokenisedText, done: int = 0, short_rows: float = 0.0, workers: int = 0) -> Iterator[Batch]:
    options = Namespace(seed=0, tokens=256, short_rows=short_rows, workers=workers)
    return Bert(2, 8, 2).batches(text, options, PIECES, done)


@pytest.mark.parametrize("length", sorted(LONG))
def test_a_second_segment_follows_the_first_as_its_label_says(text: TokenisedText, length: int) -> None:
    rows = draw_rows(text, length, 6000, np.random.default_rng(0))
    assert rows.ids.shape == (6000, length)
    labels, by_chance = {0: 0, 1: 0, UNRELATED: 0}, 0
    for ids, first, follows in zip(rows.ids, rows.first, rows.follows, strict=True):
        assert (ids[0], ids[first - 1], ids[-1]) == (CLS, SEP, SEP)
        assert (ids[1 : first - 1] >= SPECIAL).all()
        assert (ids[first:-1] >= SPECIAL).all()
        assert 0.75 * (length - 3) >= first - 2 > 0
        distance = (int(ids[first]) - int(ids[first - 2])) % (PIECES - SPECIAL)
        assert follows != 1 or distance == 1
        by_chance += follows == 0 and distance == 1  # tokens stand at several places
        labels[int(follows)] += 1
    assert by_chance < 5
    assert 0.4 < labels[1] / (labels[0] + labels[1]) < 0.55
    assert 0.15 < labels[UNRELATED] / sum(labels.values()) < 0.35


def test_documents_are_drawn_as_often_as_their_weights_say(text: TokenisedText) -> None:
    weights = np.where(np.arange(200) < LINKED, 1.0, 9.0)
    weighted = TokenisedText(text.ids, text.sentences, text.documents, text.linked, weights)
    drawn = weighted.draw(np.random.default_rng(0))
    heavy = np.mean([next(drawn) >= LINKED for _ in range(4000)])
    assert heavy == pytest.approx(9 * 50 / (9 * 50 + 150), abs=0.03)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_has_short_rows_first_and_is_resumed_with_the_same_rows(text: TokenisedText, workers: int) -> None:
    short = 2 * CHUNK * 256 / 1e6
    whole = [rows.ids for rows, _ in zip(batches(text, 0, short), range(3 * CHUNK), strict=False)]
    assert {ids.shape[1] for ids in whole[: 2 * CHUNK]} == set(SHORT)
    assert {ids.shape[1] for ids in whole[2 * CHUNK :]} == set(LONG)
    for done in (100, CHUNK - 1, CHUNK, 2 * CHUNK + 7):
        rest = batches(text, done, short, workers)
        assert all(np.array_equal(next(rest).ids, ids) for ids in whole[done : done + CHUNK // 2])
    assert not np.array_equal(whole[0], whole[CHUNK]), "each chunk draws anew"


def test_each_length_has_its_fraction_of_the_batches(text: TokenisedText) -> None:
    lengths = [rows.ids.shape[1] for rows, _ in zip(batches(text), range(CHUNK), strict=False)]
    assert {length: lengths.count(length) / CHUNK for length in LONG} == LONG
    assert all(rows.ids.size == 256 for rows, _ in zip(batches(text), range(20), strict=False))


def test_fifteen_percent_of_the_tokens_are_predicted_and_four_fifths_of_them_masked(text: TokenisedText) -> None:
    rows = draw_rows(text, 64, 4000, np.random.default_rng(0))
    batch: Batch = masked(rows, PIECES, np.random.default_rng(0))
    ids, places, words = batch.ids, batch.places.astype(int), batch.words
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
    assert np.array_equal(batch.segments.sum(1), ids.shape[1] - rows.first)


def test_one_document_is_enough_and_too_few_tokens_are_refused(text: TokenisedText) -> None:
    ids, sentences = text.ids[: text.sentences[40]], text.sentences[:41]
    document = TokenisedText(ids, sentences, text.documents[:2], text.linked[:1], text.weights[:1])
    assert next(batches(document)).ids.size
    few = TokenisedText(text.ids[:20], text.sentences[:2], np.array([0, 1]), text.linked[:1], text.weights[:1])
    with pytest.raises(BadText, match="The text has 20 tokens, but a row has 128"):
        next(batches(few))


def test_a_saved_text_is_read_back(text: TokenisedText, tmp_path: Path) -> None:
    text.save(tmp_path / "text.npz")
    again = TokenisedText.load(tmp_path / "text.npz")
    for name in TokenisedText.__slots__:
        assert np.array_equal(getattr(text, name), getattr(again, name))


def test_sources_with_uncertain_terms_are_not_listed() -> None:
    listed = yaml.safe_load(LISTED.read_text("utf-8"))
    assert not {"gcide_definitions", "debian_docs", "foldoc_definitions", "wordnet_glosses"} & listed.keys()
    assert all(facts["genre"] and facts["licence"] for facts in listed.values())
