"""The denoising term: its loss in loops, that it cannot look ahead, what the vector tells, and every family."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from cseb.encoder.interface import EncodedView
from cseb.methods.grammar import parse_method
from cseb.parts import LossInputs
from cseb.parts.terms.denoising import Decoder, next_tokens
from cseb.training.build import build

Tiny = Callable[[str], Path]
IDS = torch.tensor([[1, 2, 3, 1], [2, 3, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 0, 0]])
LOGITS = torch.tensor(
    [[[0.1, 0.4, -0.3, 0.2], [0.0, 0.5, 0.5, -1.0], [1.0, -0.5, 0.3, 0.2]],
     [[-0.2, 0.1, 0.9, 0.4], [0.3, 0.3, 0.3, 0.3], [0.6, 0.0, -0.6, 0.1]]], dtype=torch.float64,
)  # fmt: skip


def test_the_next_words_are_named_and_padding_is_not() -> None:
    targets, real = next_tokens(IDS, MASK)
    costs = []
    for row in range(2):
        for place in range(3):
            if MASK[row, place + 1]:
                logits = LOGITS[row, place].tolist()
                costs.append(math.log(sum(map(math.exp, logits))) - logits[IDS[row, place + 1]])
    assert costs == pytest.approx([1.817150809328, 2.540156852833, 2.274286714833, 1.370762140152], abs=1e-8)
    found = F.cross_entropy(LOGITS[real], targets[real]).item()
    assert found == pytest.approx(sum(costs) / 4)
    assert found == pytest.approx(2.000589129287, abs=1e-8)


def test_attention_onto_one_vector_is_an_affine_map_of_it() -> None:
    """Why the decoder has a linear map in the place of the release's cross-attention."""
    attention = nn.MultiheadAttention(4, 2, batch_first=True).double()
    z, queries = torch.randn(3, 1, 4, dtype=torch.float64), torch.randn(3, 5, 4, dtype=torch.float64)
    found, _ = attention(queries, z, z)
    value = F.linear(z, attention.in_proj_weight[8:], attention.in_proj_bias[8:])
    assert torch.allclose(found, attention.out_proj(value).expand(3, 5, 4))


def decoder() -> Decoder:
    torch.manual_seed(0)
    return Decoder(8, 2, 2, 16, 0.1, 12).double().eval()


def test_it_cannot_look_ahead() -> None:
    one, words, z = decoder(), torch.randn(1, 6, 8, dtype=torch.float64), torch.randn(1, 8, dtype=torch.float64)
    changed = words.clone()
    changed[:, 3:] += 5
    before, after = one(words, z), one(changed, z)
    assert torch.allclose(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_the_vector_is_told_at_every_place() -> None:
    one, words, z = decoder(), torch.randn(1, 6, 8, dtype=torch.float64), torch.randn(1, 8, dtype=torch.float64)
    gaps = (one(words, z) - one(words, z + 1)).abs().sum(dim=2)
    assert (gaps > 1e-6).all()


@pytest.mark.parametrize("family", ["bert", "roberta", "mpnet", "modernbert", "distilbert"])
def test_it_writes_with_every_family_and_teaches_the_encoder_through_the_noised_view_alone(
    tiny: Tiny, family: str
) -> None:
    built = build(parse_method("tsdae").at(1.0), tiny(family), 0)
    term = built.terms[0].term.eval()
    ids = torch.tensor([[2, 8, 9, 10, 3], [2, 8, 3, 0, 0]])
    mask = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]])

    def cost(ids: torch.Tensor, mask: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
        clean, noised = (EncodedView(vectors, vectors, ids, mask, mask) for vectors in (torch.zeros_like(z), z))
        return term(LossInputs([clean, noised], torch.Generator(), language=built.encoder.language))

    z = torch.randn(2, 16, generator=torch.Generator().manual_seed(0)).requires_grad_()
    found = cost(ids, mask, z)
    found.backward()
    assert z.grad.abs().sum() > 0
    assert 0 < found.item() < 3 * math.log(built.encoder.config.vocab_size)
    wider = F.pad(ids, (0, 2)), F.pad(mask, (0, 2))
    assert cost(*wider, z).item() == pytest.approx(found.item(), rel=1e-5)
