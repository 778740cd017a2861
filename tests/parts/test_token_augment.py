"""Rewritten word pieces: what is repeated, deleted or hidden, how often, and what stays as it was."""

from collections import Counter

import numpy as np
import pytest

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Shape
from cseb.parts.online_augment import EDITS, SpanMasks, SubwordRepeat, TokenEdits
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of

SHAPE = Shape(width=8, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1, mask_id=4)
FOUR = ("shuffle", "reverse", "delete", "repeat")


def loaded(tiny: Tiny, method: str = "mean") -> Encoder:
    return built_of(tiny, method).encoder


def repeats(rate: float = 0.32, bound: str = "released", when: str = "step") -> SubwordRepeat:
    return SubwordRepeat(rate=rate, bound=bound, when=when)


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_repeated_pieces_stand_beside_themselves(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    clean, tokens = encoder.tokenise(SENTENCES, 32), repeats(0.9).redraw(encoder, SENTENCES, 32, draw())
    assert tokens.lengths().sum() > clean.lengths().sum()
    for row in range(len(SENTENCES)):
        own, values = clean.own(row).tolist(), tokens.own(row).tolist()
        while own:
            assert values[0] == own[0]
            twice = len(values) - 1 >= len(own) and values[:2] == [own[0]] * 2 and len(values) > len(own)
            values, own = values[2 if twice else 1 :], own[1:]
        assert values == []


@pytest.mark.parametrize(
    ("bound", "own", "counts"),
    [
        ("released", 1, {0}),
        ("released", 5, {0, 1}),
        ("released", 8, {0, 1, 2}),
        ("released", 60, set(range(10))),
        ("paper", 1, {0, 1, 2}),
        ("paper", 14, {0, 1, 2, 3, 4, 5}),
    ],
)
def test_how_many_are_repeated(bound: str, own: int, counts: set[int]) -> None:
    rng = draw()
    assert {repeats(0.32, bound).count(own, rng) for _ in range(2_000)} == counts


def test_repetition_may_pass_the_training_length_but_not_the_encoders(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    longer = repeats(1.0, "paper").redraw(encoder, ["a man is eating pizza in the park"] * 50, 6, draw())
    assert longer.lengths().min() >= 6
    assert longer.lengths().max() > 6
    long = " ".join(["dog"] * 100)
    assert repeats(1.0, "paper").redraw(encoder, [long] * 20, 64, draw()).lengths().max() == encoder.limit()


def test_once_is_the_same_at_every_step_and_step_is_not(tiny: Tiny) -> None:
    encoder = loaded(tiny)

    def flat(when: str, seed: int, texts: list[str]) -> list[int]:
        return repeats(0.9, when=when).redraw(encoder, texts, 32, draw(seed)).flat.tolist()

    assert flat("once", 0, SENTENCES) == flat("once", 1, SENTENCES)
    assert flat("step", 0, SENTENCES) != flat("step", 1, SENTENCES)


def test_edits_of_pieces() -> None:
    own = np.arange(10, dtype=np.int32)
    made = {kind: EDITS[kind](own, 0.2, 30, draw(1)).tolist() for kind in FOUR}
    assert sorted(made["shuffle"]) == own.tolist()
    assert made["shuffle"] != own.tolist()
    assert made["reverse"] == own.tolist()[::-1]
    assert len(made["delete"]) == 8
    assert made["delete"] == sorted(made["delete"])
    assert len(made["repeat"]) == 12
    assert set(made["repeat"]) == set(own.tolist())
    assert EDITS["repeat"](own, 0.2, 11, draw(1)).size == 11
    assert EDITS["delete"](own[:2], 1.0, 30, draw(1)).size == 1
    assert all(EDITS[kind](own[:0], 0.2, 30, draw()).size == 0 for kind in FOUR)


def test_the_first_piece_like_the_drawn_one_is_deleted() -> None:
    own = np.array([5, 6, 5, 7, 5], dtype=np.int32)
    result = Counter(tuple(EDITS["delete"](own, 0.2, 30, draw(seed)).tolist()) for seed in range(300))
    assert set(result) == {(6, 5, 7, 5), (5, 5, 7, 5), (5, 6, 5, 5)}
    assert result[(6, 5, 7, 5)] > 130  # three of five draws


def test_edits_come_one_after_the_other_and_keep_special_tokens(tiny: Tiny) -> None:
    encoder = loaded(tiny, "mean+mask_prompt")
    view = TokenEdits(edits=FOUR, rate=0.5, shape=SHAPE)
    assert view(SENTENCES) == (SENTENCES,) * 3
    clean, tokens = encoder.tokenise(SENTENCES, 9), view.redraw(encoder, SENTENCES, 9, draw())
    assert len(tokens) == 4 * len(SENTENCES)
    assert (tokens.lengths() <= 9 + encoder.prompt_tokens()).all()
    for number in range(len(tokens)):
        row, kind = number % len(SENTENCES), FOUR[number // len(SENTENCES)]
        whole = tokens.flat[tokens.starts[number] : tokens.starts[number + 1]]
        before = clean.flat[clean.starts[row] : clean.starts[row + 1]]
        assert whole[: tokens.prefix].tolist() == before[: clean.prefix].tolist()
        assert whole[-tokens.suffix :].tolist() == before[-clean.suffix :].tolist()
        if kind == "reverse":
            assert tokens.own(number).tolist() == clean.own(row).tolist()[::-1]


@pytest.mark.parametrize("own", [0, 1, 2, 5, 10, 30])
def test_the_longer_run_holds_the_shorter(own: int) -> None:
    view = SpanMasks(first=0.2, second=0.4, shape=SHAPE)
    for seed in range(50):
        (start, end), (outer, last) = view.spans(own, draw(seed))
        assert (end - start, last - outer) == (round(0.2 * own), round(0.4 * own))
        assert 0 <= outer <= start <= end <= last <= own
    if own == 10:
        assert {view.spans(own, draw(seed))[1][0] for seed in range(200)} == set(range(7))


def test_hidden_runs_keep_every_length_and_hide_what_they_say(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    view = SpanMasks(first=0.2, second=0.4, shape=SHAPE)
    texts = [f"{sentence} {sentence}" for sentence in SENTENCES[:8]]
    clean, tokens = encoder.tokenise(texts, 32), view.redraw(encoder, texts, 32, draw())
    assert encoder.tokenizer.mask_token_id == SHAPE.mask_id
    for row in range(8):
        own = clean.own(row)
        less, more = tokens.own(row), tokens.own(8 + row)
        assert len(less) == len(more) == len(own)
        hidden = [set(np.flatnonzero(values == SHAPE.mask_id).tolist()) for values in (less, more)]
        assert hidden[0] < hidden[1]
        assert (less[[i not in hidden[0] for i in range(len(own))]] != SHAPE.mask_id).all()
        assert [len(one_set) for one_set in hidden] == [round(0.2 * len(own)), round(0.4 * len(own))]
    assert not (clean.flat == SHAPE.mask_id).any()
