"""Pseudo tokens: both attentions in plain loops, and what they can and cannot depend on."""

import math

import pytest
import torch
from torch import Tensor

from cseb.encoder.interface import Shape, States
from cseb.parts.pseudo_tokens import PseudoTokens


def pooler(width: int, heads: int, at: str = "tokens", count: int = 3, dropout: float = 0.0) -> PseudoTokens:
    shape = Shape(width=width, layers=1, heads=heads, mask_token=True, pooled=False, dropout=dropout)
    torch.manual_seed(0)
    return PseudoTokens(count=count, at=at, test=False, shape=shape).double()


def drawn(width: int, at: str = "tokens") -> tuple[PseudoTokens, Tensor, Tensor]:
    """A pooler of large weights, states (2, 5, D) and a mask with padding."""
    made = pooler(width, 2, at)
    generator = torch.Generator().manual_seed(1)
    for weight in made.parameters():
        weight.data = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    states = torch.randn(2, 5, width, generator=generator, dtype=torch.float64)
    return made, states, torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])


def of(made: PseudoTokens, states: Tensor, mask: Tensor) -> Tensor:
    return made(States((states,), mask, torch.zeros(len(states))))


def attended(made: PseudoTokens, asking: list[Tensor], asked: list[Tensor]) -> list[Tensor]:
    """Attention of every head in loops."""
    own, size = made.attention, len(asked[0]) // made.attention.heads
    results = []
    for vector in asking:
        q, pieces = own.query(vector), []
        for head in range(own.heads):
            part = slice(head * size, (head + 1) * size)
            powers = [math.exp(float(q[part] @ own.key(other)[part]) / math.sqrt(size)) for other in asked]
            values = [own.value(other)[part] for other in asked]
            pieces.append(sum(p / sum(powers) * value for p, value in zip(powers, values, strict=True)))
        results.append(torch.cat(pieces))
    return results


def test_released_attention_is_an_affine_map_whatever_the_pseudo_tokens_are() -> None:
    made, states, mask = drawn(6, "pooled")
    result = of(made, states, mask)
    result.sum().backward()
    value = made.attention.value
    assert torch.allclose(result, value(value(states[:, 0])))
    assert made.pseudo.grad.abs().max() < 1e-12


@torch.no_grad()
def test_both_attentions_equal_loops_over_heads_and_real_tokens() -> None:
    made, states, mask = drawn(6)
    for row, length in enumerate((3, 5)):
        own = list(states[row, :length])
        (expected,) = attended(made, own[:1], attended(made, list(made.pseudo), own))
        assert torch.allclose(of(made, states, mask)[row], expected)


def test_padding_and_the_order_of_pseudo_tokens_do_not_matter() -> None:
    made, states, mask = drawn(6)
    result = of(made, states, mask)
    assert torch.allclose(of(made, states[:1, :3], mask[:1, :3])[0], result[0])
    states[0, 3:] = -7.0
    assert of(made, states, mask).equal(result)
    made.pseudo.data = made.pseudo.data.flip(0)
    assert torch.allclose(of(made, states, mask), result)
    made.pseudo.data = 2 * made.pseudo.data
    assert not torch.allclose(of(made, states, mask), result)  # unlike as released, they matter


def test_at_test_it_is_the_first_token_unless_asked_otherwise() -> None:
    made, states, mask = drawn(6)
    in_training = of(made, states, mask)
    made.eval()
    assert of(made, states, mask).equal(states[:, 0])
    made.at_test = True
    assert of(made, states, mask).equal(in_training)


def test_attention_drops_at_the_encoders_rate_in_training_alone() -> None:
    made = pooler(4, 2, dropout=0.5)
    states, mask = torch.ones(1, 3, 4).double(), torch.ones(1, 3)
    assert not of(made, states, mask).equal(of(made, states, mask))
    made.at_test = True
    made.eval()
    assert of(made, states, mask).equal(of(made, states, mask))


def test_pseudo_tokens_and_attention_start_as_torch_has_them() -> None:
    made = pooler(64, 2, count=500)
    assert made.pseudo.std().item() == pytest.approx(1, rel=0.02)
    for layer in (made.attention.query, made.attention.key, made.attention.value):
        assert layer.weight.std().item() == pytest.approx(1 / 192**0.5, rel=0.05)
        assert layer.bias.any()
