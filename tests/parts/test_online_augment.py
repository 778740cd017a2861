"""Views drawn anew at every step: what they change, what they must not, and whose randomness they use."""

import numpy as np
import pytest

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import ATTENTIONS, Shape
from cseb.errors import BadSpec
from cseb.parts.online_augment import CharSpanMask, Delete, Repeat, Shuffle
from cseb.parts.views import RandomPairs
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of

SHAPE = Shape(width=8, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1)
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
    assert start is not None
    expected = f"{text[:start]} [MASK] {text[start + 5 :]}"
    tokens = span().redraw(encoder, [text], 32, draw(1))
    assert words(encoder, tokens.own(0)) == encoder.tokenizer.tokenize(expected)
    assert words(encoder, tokens.own(0)).count("[MASK]") == 1


def test_the_text_is_cut_where_the_characters_first_occur() -> None:
    text = "abcde" * 8
    assert {span().place(text, draw(seed))[0] for seed in range(50)} == set(range(5))


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


@pytest.mark.parametrize("in_place", [False, True])
def test_a_prompt_and_the_length_limit_stay(tiny: Tiny, in_place: bool) -> None:
    encoder = loaded(tiny, "mean+mask_prompt")
    edited = span(in_place).redraw(encoder, LONG, 6, draw())
    clean = encoder.tokenise(LONG, 6)
    assert (edited.lengths() == clean.lengths()).all()
    for row in range(len(LONG)):
        values, whole = (tokens.flat[tokens.starts[row] : tokens.starts[row + 1]] for tokens in (edited, clean))
        assert (values[: edited.prefix] == whole[: edited.prefix]).all()
        assert (values[-edited.suffix :] == whole[-edited.suffix :]).all()


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


EDITS = {"shuffle": Shuffle(), "delete": Delete(rate=0.2), "repeat": Repeat(rate=0.2)}


@pytest.mark.parametrize("name", EDITS)
def test_edits_touch_the_sentence_and_nothing_around_it(tiny: Tiny, name: str) -> None:
    encoder = loaded(tiny, "mean+mask_prompt")
    clean, edited = encoder.tokenise(LONG, 32), EDITS[name].redraw(encoder, LONG, 32, draw())
    assert len(edited) == len(LONG)
    for row in range(len(LONG)):
        values, whole = (tokens.flat[tokens.starts[row] : tokens.starts[row + 1]] for tokens in (edited, clean))
        assert (values[: edited.prefix] == whole[: clean.prefix]).all()
        assert (values[-edited.suffix :] == whole[-clean.suffix :]).all()
        assert set(edited.own(row)) <= set(clean.own(row))
    batch = edited.batch(np.arange(len(LONG)))
    assert (batch.ids[np.arange(len(LONG)), batch.anchor] == encoder.tokenizer.mask_token_id).all()
    changed = sum(edited.own(row).tolist() != clean.own(row).tolist() for row in range(len(LONG)))
    assert changed > len(LONG) / 2
    assert clean.flat.tolist() == encoder.tokenise(LONG, 32).flat.tolist()


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
    for edit in (*EDITS.values(), Delete(rate=1.0), Repeat(rate=1.0)):
        tokens = edit.redraw(encoder, ["", "dog"], 32, draw())
        assert len(tokens.own(0)) == 0
        assert set(tokens.own(1)) == set(encoder.tokenise(["dog"], 32).own(0))
