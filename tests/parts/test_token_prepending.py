"""Token prepending: the card's numbers on a toy stack, real decoders, and what is refused."""

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Family, Shape
from cseb.errors import BadResults, BadSpec
from cseb.methods.grammar import parse_method
from cseb.methods.spec import refuse_unsaved
from cseb.parts.token_prepending import MARK, TEMPLATE, PrependingHooks, TokenPrepending, prepended
from cseb.training.build import check
from tests.conftest import SENTENCES
from tests.encoder.test_decoders import Decoder, decoder
from tests.training.small_runs import Tiny, encoder_in

__all__ = ["decoder"]  # the fixture
STATES = [[0.1, 0.2], [0.0, 0.0], [0.4, -0.3], [0.2, 0.5], [-0.1, 0.3]]
W = torch.tensor([[0.5, 0.1], [-0.2, 0.4]], dtype=torch.float64)
WITH = [[-0.026, 0.332], [0.085196666667, 0.382766666667], [0.258177083333, 0.425680877778],
        [0.519848786398, 0.453183483093]]  # fmt: skip


class Layer(nn.Module):
    """layer(x)_t = x_t + W mean of x_s up to t."""

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        places = torch.arange(1, states.shape[1] + 1, dtype=states.dtype)[:, None]
        return states + (states.cumsum(dim=1) / places) @ W.T


class Toy(nn.Module):
    """Four such layers over a table whose rows have the mean 0; the extra token stands second."""

    def __init__(self) -> None:
        super().__init__()
        rows = torch.tensor([STATES[0], *STATES[2:]], dtype=torch.float64)
        self.words = nn.Embedding.from_pretrained(torch.cat([rows, -rows.sum(dim=0, keepdim=True)]))
        self.layers = nn.ModuleList(Layer() for _ in range(4))
        self.last: list[list[float]] = []

    def get_input_embeddings(self) -> nn.Module:
        return self.words

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        states = self.words(input_ids)
        for layer in self.layers:
            states = layer(states)
            self.last.append(states[0, int(attention_mask[0].sum()) - 1].tolist())
        return states


class Words:
    """A tokenizer that knows five tokens."""

    def add_tokens(self, tokens: list[str], special_tokens: bool) -> None:
        self.known = {token: 5 + number for number, token in enumerate(tokens)}

    def convert_tokens_to_ids(self, token: str) -> int:
        return self.known[token]


def shape(layers: int = 4) -> Shape:
    return Shape(2, layers, 1, mask_token=False, pooled=False, dropout=0.0, family=Family(frozenset({"context"})))


@pytest.mark.parametrize("padding", [0, 2])
def test_it_gives_the_numbers_of_the_card(padding: int) -> None:
    toy = Toy()
    ids = torch.tensor([[0, 5, 1, 2, 3, *[4] * padding]])
    mask = torch.tensor([[1, 1, 1, 1, 1, *[0] * padding]])
    toy(input_ids=ids.masked_fill(ids == 5, 0), attention_mask=mask)  # nothing is attached yet
    toy.last.clear()
    encoder = SimpleNamespace(backbone=toy, tokenizer=Words(), pooler=SimpleNamespace(template=TEMPLATE))
    TokenPrepending(1, 3, shape=shape()).attach(encoder)
    toy(input_ids=ids, attention_mask=mask)
    assert np.allclose(toy.last, WITH, atol=1e-9)


def test_every_row_has_a_place_and_a_last_token_of_its_own() -> None:
    states = torch.arange(12.0).view(2, 3, 2)
    result = prepended(states, torch.tensor([0, 1]), torch.tensor([2, 2]))
    assert result.tolist() == [[[4, 5], [2, 3], [4, 5]], [[6, 7], [10, 11], [10, 11]]]
    assert states.tolist() == torch.arange(12.0).view(2, 3, 2).tolist()


def test_the_extra_token_has_the_mean_of_the_table() -> None:
    hooks, words = PrependingHooks(mark=5), nn.Embedding.from_pretrained(torch.tensor([[1.0, 2.0], [3.0, 6.0]]))
    hooks.begin(None, (), {"input_ids": torch.tensor([[0, 5, 1]]), "attention_mask": torch.ones(1, 3)})
    assert hooks.embed(words, (), torch.zeros(1, 3, 2)).tolist() == [[[0, 0], [2, 4], [0, 0]]]


def prompted(folder: Path, more: str = "") -> Encoder:
    return encoder_in(folder, f"mean+end_prompt(template={TEMPLATE!r}){more}")


@pytest.mark.parametrize("family", ["opt", "llama", "qwen3", "gpt_neox"])
def test_decoders_give_other_vectors_the_same_in_any_company(decoder: Decoder, family: str) -> None:
    folder = decoder(family)
    encoder = prompted(folder, "+token_prepending(exit=2)")
    texts = [*SENTENCES[:3], f"a {MARK} man", " ".join(SENTENCES[:2])]
    vectors = encoder.embed(texts)
    assert np.isfinite(vectors).all()
    assert np.abs(vectors - np.concatenate([encoder.embed([text]) for text in texts])).max() < 5e-6
    again = prompted(folder, "+token_prepending(exit=2)").embed(texts)
    assert np.array_equal(vectors, again)  # nothing of it is drawn
    from_start = prompted(folder, "+token_prepending(start=0,exit=2)").embed(texts)
    assert np.abs(vectors - from_start).max() > 1e-6
    assert MARK not in encoder_in(folder).tokenizer.get_vocab()


def test_what_cannot_be_is_one_line(decoder: Decoder, tiny: Tiny) -> None:
    llama, prompt = decoder("llama"), f"+end_prompt(template={TEMPLATE!r})"
    for folder, text, message in (
        (llama, f"mean{prompt}+token_prepending", "start is 1 and exit 7; .* at most 2, the layers of this encoder"),
        (llama, "mean+end_prompt+token_prepending(exit=2)", "it must contain <PST> once, before"),
        (llama, "mean+token_prepending(exit=2)", "the pooler's template is ''; it must contain <PST>"),
        (tiny("bert"), f"mean{prompt}+token_prepending(exit=2)", "reads both sides already"),
        (
            llama,
            f"simcse{prompt}+moco+token_prepending(exit=2)+recipe(dropout=0.1)",
            "queue reads a copy of the encoder that lacks token_prepending",
        ),
    ):
        with pytest.raises(BadSpec, match=message):
            check(parse_method(text).at(1.0), folder)
    method = parse_method(f"simcse{prompt}+token_prepending(exit=2)+recipe(dropout=0.1)").at(1.0)
    check(method, llama)
    with pytest.raises(
        BadResults, match="cannot be saved: sentence-transformers cannot load what token_prepending adds"
    ):
        refuse_unsaved("it", method)
