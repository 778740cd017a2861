"""Dropped heads and dropped attention: the check case, what survives, and that nothing is dropped at test."""

import pytest
import torch

from cseb.encoder.device_batches import tensors
from cseb.encoder.interface import Shape
from cseb.parts.regularisers import DropHead, drop_heads, surviving_heads
from tests.training.small_runs import Tiny, built_of

TEXTS = ["a man is eating", "the dog was playing in the park"]


def test_surviving_heads_are_scaled_up() -> None:
    heads = torch.arange(1.0, 9.0, dtype=torch.float64).reshape(4, 1, 2)  # (H, T, D/H)
    result = drop_heads(heads.permute(1, 0, 2)[None], torch.tensor([[1.0, 0, 1, 1]], dtype=torch.float64))
    expected = [[1.3333333333, 2.6666666667], [0, 0], [6.6666666667, 8], [9.3333333333, 10.6666666667]]
    assert torch.allclose(result[0, 0], torch.tensor(expected, dtype=torch.float64), atol=1e-6, rtol=0)


def test_sentences_are_scaled_apart() -> None:
    result = drop_heads(torch.ones(2, 1, 4, 1), torch.tensor([[1.0, 1, 1, 1], [0, 0, 0, 1]]))
    assert result[:, 0, :, 0].tolist() == [[1, 1, 1, 1], [0, 0, 0, 4]]


def test_some_head_always_survives_at_the_right_rate() -> None:
    torch.manual_seed(0)
    kept = surviving_heads(4_000, 2, 0.5, torch.device("cpu"))
    assert (kept.sum(dim=1) >= 1).all()
    assert kept.mean().item() == pytest.approx(2 / 3, abs=0.02)  # 1/2 of those with any
    assert surviving_heads(5, 3, 0.0, torch.device("cpu")).min() == 1


class Attention(torch.nn.Module):
    """Two heads, three numbers each."""

    num_attention_heads = 2

    def forward(self, context: torch.Tensor) -> tuple[torch.Tensor]:
        return (context,)


def test_heads_are_blocks_of_numbers_and_dropped_for_each_sentence_at_the_rate() -> None:
    torch.manual_seed(0)
    attention = Attention()
    shape = Shape(width=6, layers=1, heads=2, mask_token=True, pooled=False, dropout=0.1, open_attention=True)
    DropHead(rate=0.2, shape=shape).attach([attention])
    context = torch.ones(4_000, 4, 6, requires_grad=True)
    (result,) = attention(context)
    (slope,) = torch.autograd.grad(result.sum(), context)
    assert slope.equal(result)
    blocks = result.unflatten(2, (2, 3))
    assert blocks.equal(blocks[:, :1, :, :1].expand_as(blocks))
    kinds = [blocks[:, 0, :, 0].eq(torch.tensor(kind)).all(dim=1).float().mean().item()
             for kind in ([1.0, 1.0], [0.0, 2.0], [2.0, 0.0])]  # fmt: skip
    assert kinds == pytest.approx([0.64 / 0.96, 0.16 / 0.96, 0.16 / 0.96], abs=0.03)  # given that one survives


def encoded(encoder, seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    tokens = encoder.tokenise(TEXTS, 32)
    return encoder(*tensors(tokens.batch(torch.arange(2).numpy()), encoder.device)).h


@pytest.mark.parametrize("family", ["bert", "roberta"])
@pytest.mark.parametrize("kernel", ["sdpa", "eager"])
@pytest.mark.parametrize("name", ["drophead", "attention_dropout"])
def test_training_is_noisy_and_testing_is_not(tiny: Tiny, family: str, kernel: str, name: str) -> None:
    eager = "+ami(layers=(0,1))" if kernel == "eager" else ""
    plain = built_of(tiny, f"simcse{eager}+recipe(dropout=1e-9)", family).encoder
    noisy = built_of(tiny, f"simcse{eager}+{name}(rate=0.5)+recipe(dropout=1e-9)", family).encoder
    assert noisy.config._attn_implementation == kernel
    plain.train(), noisy.train()
    assert torch.allclose(encoded(plain, 1), encoded(plain, 2))
    assert not torch.allclose(encoded(noisy, 1), encoded(noisy, 2))
    assert torch.equal(encoded(noisy, 1), encoded(noisy, 1))
    assert noisy.embed(TEXTS) == pytest.approx(plain.embed(TEXTS), abs=1e-6)  # hooks get the padded batch


def test_the_rate_is_that_of_the_attention_alone(tiny: Tiny) -> None:
    encoder = built_of(tiny, "simcse+attention_dropout(rate=0.3)").encoder
    rates = {name: part.p for name, part in encoder.backbone.named_modules() if isinstance(part, torch.nn.Dropout)}
    assert len(encoder.attentions()) == 2
    assert {rate for name, rate in rates.items() if "attention.self" in name} == {0.3}
    assert {rate for name, rate in rates.items() if "attention.self" not in name} == {0.1}
