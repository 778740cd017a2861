"""Crops: where they lie, what they must not do, and that both views can be drawn."""

import numpy as np
import pytest

from cseb.encoder.interface import Shape
from cseb.methods.grammar import parse_method
from cseb.parts.spans import Crop, span
from cseb.training.batches import Feed
from cseb.training.build import build
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of

TEXT = "a man is playing the guitar in the park"


def view(tiny: Tiny, text: str = "crops", **options: object) -> tuple[object, Crop]:
    written = ",".join(f"{key}={value}" for key, value in options.items())
    built = built_of(tiny, f"{text}+crop({written})" if options else text)
    return built.encoder, built.views


@pytest.mark.parametrize(
    ("units", "low", "high", "u", "v", "expected"),
    [
        (10, 0.3, 0.7, 0.0, 0.0, (0, 3)),
        (10, 0.3, 0.7, 1.0, 0.999, (3, 10)),
        (4, 0.3, 0.7, 0.2, 0.6, (1, 4)),
        (2, 0.3, 0.7, 0.2, 0.6, (0, 2)),
        (20, 0.3, 0.7, 0.5, 0.5, (5, 15)),
    ],
)
def test_spans_worked_out_by_hand(units: int, low: float, high: float, u: float, v: float, expected: tuple) -> None:
    assert span(units, low + (high - low) * u, v, 3) == expected


@pytest.mark.parametrize("unit", ["word", "token"])
def test_a_crop_is_a_run_of_whole_units_in_order(tiny: Tiny, unit: str) -> None:
    encoder, maker = view(tiny, unit=unit)
    own = encoder.tokenise([TEXT], 64).own(0).tolist()
    for seed in range(30):
        tokens = maker.redraw(encoder, [TEXT], 64, np.random.default_rng(seed)).own(0).tolist()
        assert any(own[at : at + len(tokens)] == tokens for at in range(len(own)))
        assert 3 <= len(tokens) < len(own)
        if unit == "word":
            words = encoder.tokenizer.convert_ids_to_tokens(tokens)
            assert not words[0].startswith("##")


def test_a_whole_share_is_the_sentence_and_the_same_generator_the_same_crop(tiny: Tiny) -> None:
    encoder, maker = view(tiny, least=1.0, most=1.0)
    drawn = maker.redraw(encoder, [TEXT], 64, np.random.default_rng(0))
    assert drawn.flat.tolist() == encoder.tokenise([TEXT], 64).flat.tolist()
    encoder, maker = view(tiny)
    once, twice = (maker.redraw(encoder, SENTENCES, 64, np.random.default_rng(4)).flat.tolist() for _ in range(2))
    assert once == twice


def test_cropping_comes_before_cutting_to_length(tiny: Tiny) -> None:
    encoder, maker = view(tiny)
    last = encoder.tokenizer.convert_tokens_to_ids("park")
    tokens = [maker.redraw(encoder, [TEXT], 6, np.random.default_rng(seed)).own(0).tolist() for seed in range(40)]
    assert any(last in ids for ids in tokens)
    assert max(map(len, tokens)) <= 4  # two places are for special tokens


def test_both_views_can_be_crops(tiny: Tiny) -> None:
    method = parse_method("crops+crop(first=crop)+recipe(steps=1,warmup=0,batch_size=8)").at(1.0)
    built = build(method, tiny("bert"), 0)
    (batch,) = Feed(built.views, built.encoder, built.recipe, SENTENCES, 0, built.encoder.device)
    first, second = batch.fields[0].chunk(2)
    whole = built.encoder.tokenise([SENTENCES[i] for i in batch.rows], 32).lengths()
    assert batch.views == 2
    assert not first.equal(second)
    assert all((lengths < whole).any() for lengths in (half.sum(1).numpy() for half in batch.fields[1].chunk(2)))


def test_short_sentences_are_counted(tiny: Tiny) -> None:
    _, maker = view(tiny)
    maker(["a dog", "the dog is eating", "one two three"])
    assert maker.notes == ("crop: 2 of 3 sentences are too short for a crop",)
    maker(["今天天气很好", "很好"])  # a character is a word where there are no spaces
    assert maker.notes == ("crop: 1 of 2 sentences are too short for a crop",)


def test_tokens_are_cropped_where_words_are_unknown() -> None:
    shape = Shape(width=8, layers=1, heads=2, mask_token=True, pooled=False, dropout=0.1)
    assert Crop("whole", 0.3, 0.7, 3, "token", shape=shape).views == 2
