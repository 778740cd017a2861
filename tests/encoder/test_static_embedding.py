"""A table of token vectors as an encoder: its vectors, its training, what it refuses, and what is saved of it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import cseb
from cseb.data.weights import locate
from cseb.encoder.encoder import Encoder
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.training.build import check
from tests.conftest import SENTENCES
from tests.training.small_runs import by_library, encoder_in

Tiny = Callable[[str], Path]


@pytest.fixture(scope="module")
def folder(tiny: Tiny) -> Path:
    return locate(f"static:random-12:{tiny('bert')}")


@pytest.fixture(scope="module")
def encoder(folder: Path) -> Encoder:
    return encoder_in(folder)


def rows(encoder: Encoder) -> np.ndarray:
    weight = encoder.backbone.get_parameter("embedding.weight")
    return weight.detach().numpy()


def test_a_vector_is_the_mean_of_the_rows_of_a_sentence_s_own_tokens(encoder: Encoder) -> None:
    texts = ["a man is eating pizza", "dog", "a a dog"]
    vectors = encoder.embed([*texts, ""])
    for text, vector in zip(texts, vectors, strict=False):
        ids = encoder.tokenizer(text, add_special_tokens=False)["input_ids"]
        total = np.zeros(12)
        for token in ids:
            total += rows(encoder)[token].astype(np.float64)
        assert vector == pytest.approx(total / len(ids), abs=1e-6)
    assert not vectors[3].any()  # of no token: the zero vector, as with word vectors
    assert not encoder.embed([""]).any()


def test_order_and_company_of_words_make_no_difference(encoder: Encoder) -> None:
    first, other = encoder.embed(["the dog is eating pizza", "pizza eating is dog the"])
    assert first == pytest.approx(other, abs=1e-6)
    assert np.array_equal(encoder.embed(["dog"])[0], encoder.embed(["dog", " ".join(SENTENCES)])[0])


def test_no_sentence_is_cut_at_test(encoder: Encoder) -> None:
    long = " ".join(["dog"] * 3000)
    assert encoder.embed([f"{long} man"])[0] != pytest.approx(encoder.embed([long])[0], abs=1e-7)


@pytest.mark.parametrize(
    ("method", "reason"),
    [
        ("simcse", "both views are equal; add \\+recipe\\(dropout=0.1\\)"),
        ("simcse+delete", "cls needs a first token that sees the whole sentence.*take \\+mean"),
        ("simcse+mean+shuffle", "shuffle needs states that depend on the tokens around them"),
        ("simcse+mean+delete+ami(layers=(0,1))", "ami needs attention maps"),
        ("simcse+mean+delete+layer_noise", "layer_noise needs states of several layers"),
        ("simcse+mean+delete+lora", "lora needs states of several layers"),
        ("simcse+mean+delete+mlm", "no mask token"),
        ("simcse+mean+delete+attention_dropout", "self-attention cannot be reached"),
        ("simcse+first_last+delete", "first_last needs states of several layers"),
        ("simcse+padded_mean+delete", "padded_mean needs states of padding"),
        ("simcse+mean+embedding_edits", "finds positions itself"),
        ("sg-opt+mean", "multi_layer_nce needs"),
    ],
)
def test_parts_that_need_more_than_a_table_are_refused_before_training(folder: Path, method: str, reason: str) -> None:
    with pytest.raises(BadSpec, match=reason):
        check(parse_method(method).at(1.0), folder)


@pytest.mark.parametrize("method", ["simcse+mean+delete+queue(size=8)", "simcse+mean+recipe(dropout=0.1)", "crops"])
def test_it_trains_and_leaves_unread_words(folder: Path, encoder: Encoder, method: str, tmp_path: Path) -> None:
    sentences = [text for text in SENTENCES if "guitar" not in text]
    trained = cseb.train(
        method, sentences, encoder=str(folder), steps=3, scale="recipe(batch_size=8,learning_rate=0.5,warmup=0)"
    )
    assert all(np.isfinite(loss) for _, loss, _ in trained.curve)
    trained.save(tmp_path / "saved")
    before, after = rows(encoder), rows(trained._encoder)
    token = {word: encoder.tokenizer.convert_tokens_to_ids(word) for word in ("man", "guitar")}
    assert np.array_equal(after[token["guitar"]], before[token["guitar"]])
    moved = np.abs(after[token["man"]] - before[token["man"]]).max()
    assert 0.1 < moved < 2  # Adam: a step is about the rate, so that 2e-5 would leave a table as it is
    again = encoder_in(tmp_path / "saved")
    assert np.array_equal(again.embed(SENTENCES), trained.encode(SENTENCES))


def test_sentence_transformers_gives_the_vectors_that_were_scored(folder: Path, tmp_path: Path) -> None:
    trained = cseb.train(
        "crops", SENTENCES, encoder=str(folder), steps=2, scale="recipe(batch_size=8,learning_rate=0.5)"
    )
    trained.save(tmp_path / "saved")
    texts = [*SENTENCES, "", "an unknown wörd", " ".join(["dog"] * 60)]
    assert np.abs(by_library(tmp_path / "saved", texts) - trained.encode(texts)).max() < 1e-5


def test_it_is_scored_by_the_mean_where_nobody_says_how(folder: Path) -> None:
    result = cseb.evaluate(str(folder), "snli-dev", results=None)
    assert result.record.method == "mean"
