"""Pseudo tokens: both attentions in plain loops, worked-out numbers, and what they can and cannot depend on."""

import math

import pytest
import torch
from torch import Tensor

from cseb.encoder.interface import Shape, States
from cseb.parts.pseudo_tokens import PseudoTokens

# One head of width 2, worked out apart from any code: weights, the sentence's tokens, pseudo tokens.
WEIGHTS = {
    "query": ([[0.3, 0.9], [-1.2, 0.4]], [0.1, 0.0]),
    "key": ([[0.7, 0.0], [0.1, -0.6]], [0.0, 0.2]),
    "value": ([[0.2, 0.1], [-0.3, 0.4]], [0.05, -0.1]),
}
TOKENS = [[0.4, -0.7], [1.1, 0.3], [-0.2, 0.8], [0.5, 0.5]]
PSEUDO = [[1.0, 0.2], [-0.5, 0.9], [0.3, -1.4]]
FIRST_STEP = [[0.176490139136, -0.102503918476], [0.167981506945, -0.235101215444], [0.146272537073, -0.026280992568]]


def exactly(numbers: object) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64)


def pooler(width: int, heads: int, at: str = "tokens", count: int = 3, dropout: float = 0.0) -> PseudoTokens:
    shape = Shape(width=width, layers=1, heads=heads, mask_token=True, pooled=False, dropout=dropout)
    torch.manual_seed(0)
    return PseudoTokens(count=count, at=at, test=False, shape=shape).double()  # type: ignore[arg-type]


def worked_out(at: str) -> PseudoTokens:
    """With the worked-out weights."""
    made = pooler(2, 1, at)
    for name, (weight, bias) in WEIGHTS.items():
        layer = getattr(made.attention, name)
        layer.weight.data, layer.bias.data = exactly(weight), exactly(bias)
    made.pseudo.data = exactly(PSEUDO)
    return made


def drawn(width: int) -> tuple[PseudoTokens, Tensor, Tensor]:
    """A pooler of large weights, states (2, 5, D) and a mask with padding."""
    made = pooler(width, 2)
    generator = torch.Generator().manual_seed(1)
    for weight in made.requires_grad_(False).parameters():
        weight.data = torch.randn(weight.shape, generator=generator, dtype=torch.float64)
    states = torch.randn(2, 5, width, generator=generator, dtype=torch.float64)
    return made, states, torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])


def of(made: PseudoTokens, states: Tensor, mask: Tensor) -> Tensor:
    return made(States((states,), mask, torch.zeros(len(states))))  # type: ignore[no-any-return]


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
        results.append(torch.cat(pieces))  # type: ignore[arg-type]
    return results


def test_tokens_are_attended_to_as_worked_out() -> None:
    made, states = worked_out("tokens"), exactly([TOKENS])
    first = made.attention(made.pseudo[None], states)
    assert first[0].tolist() == [pytest.approx(row, abs=1e-9) for row in FIRST_STEP]
    expected = [0.070792536229, -0.196496053155]
    assert of(made, states, torch.ones(1, 4))[0].tolist() == pytest.approx(expected, abs=1e-9)


def test_released_attention_is_an_affine_map_whatever_the_pseudo_tokens_are() -> None:
    made, states = worked_out("pooled"), exactly([TOKENS])
    first = made.attention(made.pseudo[None], states[:, :1])
    assert first[0].tolist() == [pytest.approx([0.06, -0.5])] * 3
    result = of(made, states, torch.ones(1, 4))
    assert result[0].tolist() == pytest.approx([0.012, -0.318])
    result.sum().backward()
    value = made.attention.value
    assert torch.allclose(result, value(value(states[:, 0])))
    assert made.pseudo.grad is not None
    assert made.pseudo.grad.abs().max() < 1e-15


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


def test_one_pseudo_token_is_attention_pooling() -> None:
    made, states, mask = drawn(6)
    made.pseudo.data = made.pseudo.data[:1]
    (pooled,) = attended(made, list(made.pseudo), list(states[1]))
    assert torch.allclose(of(made, states, mask)[1], made.attention.value(pooled))


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
