"""CompCSE: where sentences are cut, what their parts become, and the check numbers of the released forward pass."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from cseb.encoder.interface import EncodedView, Shape
from cseb.encoder.loading import shape_of, word_pieces
from cseb.errors import BadData, BadSpec
from cseb.parts.part_composition import (
    AGGREGATES,
    Compose,
    Halves,
    UnitHalves,
    adjacent,
    clauses,
    cut,
    overlapping,
    subsuming,
)
from cseb.parts.terms.infonce import info_nce
from tests.training.small_runs import Tiny


def t(rows: object) -> torch.Tensor:
    return torch.tensor(rows, dtype=torch.float64)


H = t([[1, 0, 2, -1], [0, 2, 1, 1]])
LEFT, RIGHT = t([[2, 0, 1, 0], [0, 1, 1, 2]]), t([[0, 1, 2, -2], [1, 3, 0, 1]])
LEFT_AGAIN, RIGHT_AGAIN = LEFT + 0.1, RIGHT - 0.1
WEIGHT = t([[0.5, 0.1, 0, -0.2], [0, 0.4, 0.3, 0], [0.2, 0, 0.6, 0.1], [-0.3, 0.2, 0, 0.5]])
BIAS = t([0.05, -0.1, 0, 0.1])
SHAPE = Shape(width=4, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1)


def head(h: torch.Tensor) -> torch.Tensor:
    return torch.tanh(F.linear(h, WEIGHT, BIAS))


def bare(h: torch.Tensor) -> torch.Tensor:
    return h


def view(h: torch.Tensor, token: int, after: Callable[[torch.Tensor], torch.Tensor] = head) -> EncodedView:
    ids = torch.full((len(h), 1), token)
    return EncodedView(h, after(h), ids, ids, ids)


def compose(
    aggregate: str = "avg", before_head: bool = True, first: int | None = None, shape: Shape = SHAPE
) -> Compose:
    return Compose(aggregate=aggregate, before_head=before_head, first=first, shape=shape).double()


def loss(made: Compose, blocks: Sequence[torch.Tensor], groups: Sequence[int], after=head) -> float:
    views = made([view(h, token, after) for token, h in enumerate(blocks)], groups, after)
    return info_nce(views[0].z, views[1].z, 0.5).item()


@pytest.mark.parametrize(
    ("aggregate", "whole", "half"),
    [
        ("avg", 0.2147566063, 0.461871273),
        ("sum", 0.2331072853, 0.5096001609),
        ("max", 0.3107727704, 0.5392112762),
        ("first_last", 0.1446487279, 0.3135133658),
    ],
)
def test_composed_before_the_head(aggregate: str, whole: float, half: float) -> None:
    made = compose(aggregate)
    assert loss(made, (H, LEFT, RIGHT), (1, 2)) == pytest.approx(whole, abs=1e-6)
    made.first = 2
    assert loss(made, (H, LEFT, RIGHT), (1, 2)) == pytest.approx(half, abs=1e-6)


def test_without_a_head_and_after_it() -> None:
    blocks = (H, LEFT, RIGHT)
    assert loss(compose(), blocks, (1, 2), bare) == pytest.approx(0.1877381352, abs=1e-6)
    assert loss(compose(first=2), blocks, (1, 2), bare) == pytest.approx(0.2706666653, abs=1e-6)
    assert loss(compose(before_head=False), blocks, (1, 2)) == pytest.approx(0.2074991311, abs=1e-6)
    assert loss(compose("sum"), blocks, (1, 2), bare) == pytest.approx(0.1877381352, abs=1e-6)


def test_which_side_is_composed() -> None:
    assert loss(compose(), (LEFT, RIGHT, H), (2, 1)) == pytest.approx(0.2146231393, abs=1e-6)
    assert loss(compose(), (H, LEFT, RIGHT), (1, 2)) == pytest.approx(0.2147566063, abs=1e-6)
    both = (LEFT, RIGHT, LEFT_AGAIN, RIGHT_AGAIN)
    assert loss(compose(), both, (2, 2)) == pytest.approx(0.2160946003, abs=1e-6)


def test_aggregates_written_out() -> None:
    parts = [torch.arange(6.0).reshape(1, 6) + 10 * part for part in range(3)]
    assert AGGREGATES["first_last"](parts).tolist() == [[0, 1, 12, 13, 24, 25]]
    assert AGGREGATES["max"]([t([[1, 5]]), t([[2, 3]])]).tolist() == [[2, 5]]
    assert AGGREGATES["concat_project"]([t([[1, 5]]), t([[2, 3]])]).tolist() == [[1, 5, 2, 3]]
    assert AGGREGATES["concat_diff_project"]([t([[1, 5]]), t([[2, 3]])]).tolist() == [[1, 5, 2, 3, 1, 2]]


@pytest.mark.parametrize("aggregate", AGGREGATES)
@pytest.mark.parametrize("before_head", [True, False])
def test_gradients_reach_anchor_parts_and_projection(aggregate: str, before_head: bool) -> None:
    torch.manual_seed(0)
    made = compose(aggregate, before_head)
    parts = [(h + 0.01 * torch.rand_like(h)).requires_grad_() for h in (H, LEFT, RIGHT)]

    def run(*blocks: torch.Tensor) -> torch.Tensor:
        views = made([view(h, token) for token, h in enumerate(blocks)], (1, 2), head)
        return info_nce(views[0].z, views[1].z, 0.5)

    assert torch.autograd.gradcheck(run, parts)
    run(*parts).backward()
    assert all(part.grad is not None and part.grad.abs().sum() > 0 for part in parts)
    assert all(weight.grad is not None for weight in made.parameters())


def test_rows_of_the_head_beyond_the_subvector_get_no_gradient() -> None:
    weight = WEIGHT.clone().requires_grad_()
    after = lambda h: torch.tanh(F.linear(h, weight, BIAS))
    views = compose(first=2)([view(h, token, after) for token, h in enumerate((H, LEFT, RIGHT))], (1, 2), after)
    info_nce(views[0].z, views[1].z, 0.5).backward()
    assert weight.grad[:2].abs().sum() > 0
    assert weight.grad[2:].abs().sum() == 0


def test_a_row_that_was_not_cut_stands_for_itself() -> None:
    ids = torch.tensor([[5, 6], [7, 0]])
    parts = [EncodedView(h, head(h), ids, ids, ids) for h in (LEFT, RIGHT)]
    other = EncodedView(RIGHT, head(RIGHT), torch.tensor([[5, 9], [7, 0]]), ids, ids)
    (both,) = compose("sum")(parts, (2,), head)
    (second,) = compose("sum")([parts[0], other], (2,), head)
    assert torch.equal(both.h, LEFT)
    assert torch.equal(second.h, torch.stack([LEFT[0] + RIGHT[0], LEFT[1]]))


@pytest.mark.parametrize(("k", "runs"), [(2, ["abc", "defg"]), (3, ["ab", "cd", "efg"]), (4, ["a", "bc", "de", "fg"])])
def test_seven_words_are_cut_at_the_floor(k: int, runs: list[str]) -> None:
    assert ["abcdefg"[run] for run in cut(7, range(7), k)] == runs


def test_a_cut_moves_left_to_a_word_start_and_never_leaves_a_part_empty() -> None:
    assert cut(8, [0, 3, 7], 2) == [slice(0, 3), slice(3, 8)]
    assert cut(9, [0, 8], 2) == [slice(0, 8), slice(8, 9)]  # the first word is longer than half
    assert cut(9, [0, 1, 2], 3) == [slice(0, 1), slice(1, 2), slice(2, 9)]  # and so is the last one here
    for total in range(1, 12):
        starts = [0, *(place for place in range(1, total) if place % 3 != 2)]
        for k in range(2, len(starts) + 1):
            runs = cut(total, starts, k)
            assert [place for run in runs for place in range(total)[run]] == list(range(total))
            assert all(run.start in starts and run.stop > run.start for run in runs)


def halves(tiny: Tiny, **options: object) -> Halves:
    return Halves(**{"k": 2, "side": "positive", "extra": "none", **options, "shape": shape_of(tiny("bert"))})


def test_parts_are_the_sentences_own_pieces(tiny: Tiny) -> None:
    made = halves(tiny)
    texts = ["a man is eating pizza slowly", "dog", "unknowable cat"]
    whole, left, right = made(texts)
    assert whole == texts
    pieces = list(made.pieces(texts))
    assert [[*a, *b] for a, b in zip(left, right, strict=True)][::2] == [pieces[0].ids, pieces[2].ids]
    assert right[2] == pieces[2].ids[pieces[2].starts[1] :]  # "unknowable" is many pieces and remains one word
    assert len(left[0]) in pieces[0].starts
    assert left[1] == right[1] == pieces[1].ids
    assert made.notes == ("halves: 1 of 3 sentences are shorter than 2 words; their positive is dropout",)


@pytest.mark.parametrize(("side", "groups"), [("positive", (1, 2)), ("anchor", (2, 1)), ("both", (2, 2))])
def test_sides_order_their_renderings(tiny: Tiny, side: str, groups: tuple[int, ...]) -> None:
    made = halves(tiny, side=side)
    texts = ["a man", "the red dog"]
    columns = made(texts)
    assert made.groups == groups
    assert [list(column) == texts for column in columns] == {
        "positive": [True, False, False],
        "anchor": [False, False, True],
        "both": [False] * 4,
    }[side]
    parts = [column for column in columns if list(column) != texts]
    assert [[*left, *right] for left, right in zip(*parts[:2], strict=True)] == [p.ids for p in made.pieces(texts)]
    assert side != "both" or (columns[0] is columns[2] and columns[1] is columns[3])


def test_text_in_which_nothing_can_be_cut_is_refused(tiny: Tiny) -> None:
    with pytest.raises(BadSpec, match="no sentence of this subset has 3 words"):
        halves(tiny, k=3)(["a man", "dog"])


UNITS = ["e1", "e2", "e3", "e4"]


def test_subsampling_of_four_units() -> None:
    assert adjacent(UNITS) == [(["e1", "e2"], ["e1"], ["e2"]), (["e3", "e4"], ["e3"], ["e4"])]
    assert overlapping(UNITS) == [(UNITS[at : at + 2], [UNITS[at]], [UNITS[at + 1]]) for at in range(3)]
    assert subsuming(UNITS) == [(UNITS, ["e1", "e2"], ["e3", "e4"]), *adjacent(UNITS)]
    assert all(strategy([]) == strategy(["e1"]) == [] for strategy in (adjacent, overlapping, subsuming))


def test_clauses_by_rule() -> None:
    text = "The river, which had risen overnight, flooded the road, but nobody was hurt because the bridge held."
    parts = ["The river,", "which had risen overnight,", "flooded the road,", "but nobody was hurt"]
    assert clauses(text) == [*parts, "because the bridge held."]
    shorter = ["We ran on -", "all night:", "it rained;", "nobody slept", "But some"]
    assert clauses(" ".join(shorter)) == shorter
    assert clauses("Yes, and no") == ["Yes, and no"]  # a clause has two words or more
    assert clauses("salt and pepper") == ["salt and pepper"]
    assert clauses("") == []


def test_extra_items_follow_the_sentences(tiny: Tiny, tmp_path: Path) -> None:
    text = "a man is eating, the dog was playing"
    made = halves(tiny, extra="adjacent")
    whole, left, right = made(["a cat", text])
    assert (whole[2], left[2], right[2]) == (text, "a man is eating,", "the dog was playing")
    assert made.notes[1] == "halves: clauses add 1 items to 2 sentences"
    file = tmp_path / "units.tsv"
    file.write_text(f"{text}\ta man\tis eating,\tthe dog was playing\n", encoding="utf-8")
    read = UnitHalves(k=2, side="positive", extra="overlapping", file=str(file), shape=shape_of(tiny("bert")))
    assert read([text, "a cat"])[0][2:] == ["a man is eating,", "is eating, the dog was playing"]
    assert read.notes == ("halves: 0 of 2 sentences are shorter than 2 words; their positive is dropout",
                          "halves: clauses add 2 items to 2 sentences")  # fmt: skip


@pytest.mark.parametrize("content", ["sentence\n", "sentence\tone\t\n"])
def test_a_bad_file_of_units_is_answered(tiny: Tiny, tmp_path: Path, content: str) -> None:
    file = tmp_path / "units.tsv"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(BadData, match="line 1 has no units"):
        UnitHalves(k=2, side="positive", extra="adjacent", file=str(file), shape=shape_of(tiny("bert")))


def test_byte_level_pieces_are_cut_where_a_blank_starts_a_word() -> None:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    letters = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(["the red dog"], trainers.BpeTrainer(vocab_size=260, initial_alphabet=letters))
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    text = "unknowable dogs, running home"
    (piece,) = word_pieces(fast, [text])
    words = [fast.decode(piece.ids[a:b]) for a, b in zip(piece.starts, [*piece.starts[1:], None], strict=True)]
    assert words == ["unknowable", " dogs", ",", " running", " home"]
    left, right = (fast.decode(piece.ids[run]) for run in cut(len(piece.ids), piece.starts, 2))
    assert (left, right) == ("unknowable dogs", ", running home")
