"""Views and edits drawn anew at every step: what they change and hide, how often, and what stays as it was."""

from collections import Counter

import numpy as np
import pytest

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import ATTENTIONS, Shape
from cseb.errors import BadSpec
from cseb.parts.online_augment import (
    EDITS,
    CharSpanMask,
    Delete,
    EditedTokens,
    Repeat,
    Shuffle,
    SpanMasks,
    SubwordRepeat,
    TokenEdits,
)
from cseb.parts.views import RandomPairs
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of

SHAPE = Shape(
    width=8, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1, mask_id=4, pieces=lambda texts: iter(())
)
LONG = [sentence for sentence in SENTENCES if len(sentence) >= 30]


def loaded(tiny: Tiny, method: str = "mean") -> Encoder:
    return built_of(tiny, method).encoder


def span(in_place: bool | str = False, needs: frozenset[str] = frozenset(), least: int = 30) -> CharSpanMask:
    return CharSpanMask(span=5, least=least, in_place=in_place, shape=SHAPE, needs=needs)


def draw(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def words(encoder: Encoder, ids: np.ndarray) -> list[str]:
    return encoder.tokenizer.convert_ids_to_tokens(ids.tolist())


def test_a_span_of_characters_becomes_one_mask_token(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    text = "the red dog is eating pizza slowly"
    start, _ = span().place(text, draw(1))
    expected = f"{text[:start]} [MASK] {text[start + 5 :]}"
    tokens = span().redraw(encoder, [text], 32, draw(1))
    assert words(encoder, tokens.own(0)) == encoder.tokenizer.tokenize(expected)
    assert words(encoder, tokens.own(0)).count("[MASK]") == 1


def test_the_text_is_cut_where_the_characters_first_occur() -> None:
    text = "abcde" * 8
    assert {span().place(text, draw(seed))[0] for seed in range(50)} == set(range(5))
    assert {span(least=0).place("abcdef", draw(seed)) for seed in range(20)} == {(0, 5)}  # never the last span


def test_short_texts_stay_whole(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    for in_place in (False, True):
        tokens = span(in_place).redraw(encoder, ["a man", "", "a" * 29], 32, draw())
        assert "[MASK]" not in words(encoder, tokens.flat)
    assert span(least=0).place("abcde", draw()) is None


def test_in_place_keeps_every_length_and_every_other_token(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    clean, tokens = encoder.tokenise(LONG, 32), span(True).redraw(encoder, LONG, 32, draw(3))
    assert tokens.starts.tolist() == clean.starts.tolist()
    changed = tokens.flat != clean.flat
    assert set(tokens.flat[changed]) == {encoder.tokenizer.mask_token_id}
    for row in range(len(LONG)):
        hidden = np.flatnonzero(tokens.own(row) != clean.own(row))
        assert 1 <= len(hidden) <= 5
        assert hidden.tolist() == list(range(hidden[0], hidden[-1] + 1))


def test_in_place_hides_the_tokens_the_characters_lie_in(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    text = "the red dog is eating pizza slowly"
    for seed in range(20):
        start, _ = span().place(text, draw(seed))
        tokens = span(True).redraw(encoder, [text], 32, draw(seed))
        hidden = [place for place, word in enumerate(words(encoder, tokens.own(0))) if word == "[MASK]"]
        places = encoder.offsets([text])[0]
        assert hidden == [i for i, (a, b) in enumerate(places) if set(range(a, b)) & set(range(start, start + 5))]


def test_auto_follows_the_terms() -> None:
    assert not span("auto").in_place
    assert span("auto", frozenset({ATTENTIONS})).in_place
    assert not span(False, frozenset({ATTENTIONS})).in_place


def test_random_pairs_are_collections_of_one_positive() -> None:
    rows = np.arange(20)[::-1].copy()
    rng = draw()
    seen = set()
    for _ in range(200):
        others = RandomPairs(negatives=7).pair(rows, 40, rng)
        assert np.flatnonzero(others == rows).tolist() == [0, 8, 16]
        positives = rows[[0] * 8 + [8] * 8 + [16] * 4]
        assert (others[others != rows] != positives[others != rows]).all()
        seen.update(others.tolist())
    assert seen == set(range(40))  # from the whole subset, not the batch alone


def test_random_pairs_need_three_sentences() -> None:
    assert sorted(RandomPairs(negatives=1).pair(np.array([0, 1]), 3, draw()).tolist()) == [0, 2]
    with pytest.raises(BadSpec, match="this subset has 2 sentences"):
        RandomPairs(negatives=1).pair(np.array([0, 1]), 2, draw())


FOUR = ("shuffle", "reverse", "delete", "repeat")
VIEWS = {"shuffle": Shuffle(), "delete": Delete(rate=0.2), "repeat": Repeat(rate=0.2)}


@pytest.mark.parametrize(
    "view",
    [
        *(span(False), span(True), *VIEWS.values()),
        *(TokenEdits(edits=FOUR, rate=0.5, shape=SHAPE), SpanMasks(first=0.2, second=0.4, shape=SHAPE)),
    ],
    ids=lambda view: type(view).__name__,
)
def test_a_prompt_special_tokens_and_the_length_limit_stay(tiny: Tiny, view: EditedTokens) -> None:
    encoder = loaded(tiny, "mean+mask_prompt")
    clean, edited = encoder.tokenise(LONG, 6), view.redraw(encoder, LONG, 6, draw())
    assert (edited.lengths() <= 6 + encoder.prompt_tokens()).all()
    assert len(edited) % len(LONG) == 0
    for number in range(len(edited)):
        values = edited.flat[edited.starts[number] : edited.starts[number + 1]]
        whole = clean.flat[clean.starts[number % len(LONG)] : clean.starts[number % len(LONG) + 1]]
        assert (values[: edited.prefix] == whole[: clean.prefix]).all()
        assert (values[-edited.suffix :] == whole[-clean.suffix :]).all()
    assert clean.flat.tolist() == encoder.tokenise(LONG, 6).flat.tolist()


def test_edits_change_the_share_they_are_told_to(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    text = ["a man woman is was eating food pizza playing guitar"]  # 10 tokens
    clean = encoder.tokenise(text, 32).own(0).tolist()
    assert sorted(Shuffle().redraw(encoder, text, 32, draw()).own(0)) == sorted(clean)
    deleted = Delete(rate=0.2).redraw(encoder, text, 32, draw()).own(0).tolist()
    assert len(deleted) == 8
    assert deleted == [word for word in clean if word in deleted]  # in the same order
    repeated = Repeat(rate=0.2).redraw(encoder, text, 32, draw()).own(0).tolist()
    assert len(repeated) == 12
    assert list(dict.fromkeys(repeated)) == clean
    assert Repeat(rate=1.0).redraw(encoder, text, 12, draw()).own(0).tolist() == [w for w in clean for _ in "ab"][:10]


def test_edits_of_next_to_nothing(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    for edit in (*VIEWS.values(), Delete(rate=1.0), Repeat(rate=1.0)):
        tokens = edit.redraw(encoder, ["", "dog"], 32, draw())
        assert len(tokens.own(0)) == 0
        assert set(tokens.own(1)) == set(encoder.tokenise(["dog"], 32).own(0))


def test_repeated_tokens_have_the_same_room_with_a_prompt(tiny: Tiny) -> None:
    """A prompt does not count towards the length. The positive was cut by as many tokens as the prompt has."""
    text = [" ".join(["a"] * 20)]
    for method in ("mean", "mean+mask_prompt"):
        encoder = loaded(tiny, method)
        clean = encoder.tokenise(text, 32)
        both = TokenEdits(edits=("repeat", "delete"), rate=0.4, shape=SHAPE).redraw(encoder, text, 32, draw())
        lengths = [Repeat(rate=0.4).redraw(encoder, text, 32, draw()).own(0).size, both.own(0).size, both.own(1).size]
        assert (clean.own(0).size, lengths) == (20, [28, 28, 12])


def repeats(rate: float = 0.32, bound: str = "released", when: str = "step") -> SubwordRepeat:
    return SubwordRepeat(rate=rate, bound=bound, when=when)


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
    places = {tuple(repeats(0.9, when="once").edited(np.arange(9) + i, draw()) - i) for i in range(9)}
    assert len(places) > 1  # other sentences, other pieces


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
    copies = {tuple(EDITS["repeat"](own[:3], 0.34, 30, draw(seed))) for seed in range(300)}
    assert len(copies) == 3 * 4 - 3  # any piece at any place; before and behind itself is the same
    assert EDITS["delete"](own[:2], 1.0, 30, draw(1)).size == 1
    assert all(EDITS[kind](own[:0], 0.2, 30, draw()).size == 0 for kind in FOUR)


def test_the_first_piece_like_the_drawn_one_is_deleted() -> None:
    own = np.array([5, 6, 5, 7, 5], dtype=np.int32)
    result = Counter(tuple(EDITS["delete"](own, 0.2, 30, draw(seed)).tolist()) for seed in range(300))
    assert set(result) == {(6, 5, 7, 5), (5, 5, 7, 5), (5, 6, 5, 5)}
    assert result[(6, 5, 7, 5)] > 130  # three of five draws


def test_edits_come_one_after_the_other(tiny: Tiny) -> None:
    encoder = loaded(tiny)
    view = TokenEdits(edits=FOUR, rate=0.5, shape=SHAPE)
    assert view(SENTENCES) == (SENTENCES,) * 3
    clean, tokens = encoder.tokenise(SENTENCES, 9), view.redraw(encoder, SENTENCES, 9, draw())
    assert len(tokens) == 4 * len(SENTENCES)
    for row in range(len(SENTENCES)):
        assert tokens.own(len(SENTENCES) + row).tolist() == clean.own(row).tolist()[::-1]


@pytest.mark.parametrize("own", [0, 1, 2, 5, 10, 30])
def test_the_longer_run_holds_the_shorter(own: int) -> None:
    view = SpanMasks(first=0.2, second=0.4, shape=SHAPE)
    for seed in range(50):
        (start, end), (outer, last) = view.spans(own, draw(seed))
        assert (end - start, last - outer) == (round(0.2 * own), round(0.4 * own))
        assert 0 <= outer <= start <= end <= last <= own
    if own == 10:
        spans = [view.spans(own, draw(seed)) for seed in range(200)]
        assert {outer for _, (outer, _) in spans} == set(range(7))
        assert {start - outer for (start, _), (outer, _) in spans} == {0, 1, 2}


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
