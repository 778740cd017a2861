"""ICM: the three reductions by hand, the noise, and what reaches the backbone."""

from dataclasses import replace

import pytest
import torch

from cseb.encoder.interface import EncodedView, Shape
from cseb.parts import LossInputs
from cseb.parts.terms.decoders import Reconstruct, add_noise, reconstruction

LOGITS = torch.tensor(
    [[[2.0, 0.0, -1.0], [0.5, 0.5, 0.0], [1.0, 3.0, 0.0]], [[0.0, 0.0, 0.0], [-1.0, 2.0, 1.0], [4.0, 0.0, 0.0]]],
    dtype=torch.float64,
)
TARGETS = torch.tensor([[0, 1, 2], [1, 0, 2]])
REAL = torch.tensor([[1, 1, 1], [1, 1, 0]]).bool()
SHAPE = Shape(width=8, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1)
OPTIONS = {
    "layers": 1, "heads": 2, "inner": 16, "dropout": 0.0, "noise": "element", "rate": 0.5, "target": "self",
    "reduction": "token_mean",
}  # fmt: skip


@pytest.mark.parametrize(
    ("reduction", "value"), [("token_mean", 1.7490673265), ("sum", 8.7453366325), ("sentence_mean", 4.3726683162)]
)
def test_reconstruction_gives_the_number_worked_out_by_hand(reduction: str, value: float) -> None:
    assert reconstruction(LOGITS[REAL], TARGETS[REAL], 2, reduction).item() == pytest.approx(value, abs=1e-9)


def test_noise_zeroes_elements_or_whole_tokens_and_keeps_the_mean() -> None:
    states = torch.ones(50, 20, 16)
    rng = torch.Generator().manual_seed(0)
    element, token = add_noise(states, "element", 0.825, rng), add_noise(states, "token", 0.825, rng)
    for noised in (element, token):
        assert (noised == 0).float().mean().item() == pytest.approx(0.825, abs=0.02)
        assert noised.mean().item() == pytest.approx(1, abs=0.1)
    assert set((token == 0).float().mean(dim=-1).flatten().tolist()) == {0.0, 1.0}
    assert 0 < (element == 0).float().mean(dim=-1).min() < 1


def step(z: torch.Tensor, embeddings: torch.Tensor, ids: torch.Tensor, words: torch.Tensor) -> LossInputs:
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    content = torch.tensor([[0, 1, 1, 0], [0, 1, 0, 0]])
    views = [EncodedView(z, z, ids, mask, content, layers=(embeddings,)) for _ in range(2)]
    return LossInputs(views, torch.Generator().manual_seed(1), language=lambda states: states @ words.T)


def test_only_the_embedding_and_the_words_are_trained_and_padding_is_not_seen() -> None:
    torch.manual_seed(0)
    term = Reconstruct(**OPTIONS, shape=SHAPE)
    z, embeddings = torch.randn(2, 8, requires_grad=True), torch.randn(2, 4, 8, requires_grad=True)
    words, ids = torch.randn(11, 8, requires_grad=True), torch.randint(11, (2, 4))
    loss = term(step(z, embeddings, ids, words))
    loss.backward()
    assert embeddings.grad is None
    assert z.grad.abs().sum() > 0
    assert words.grad.abs().sum() > 0
    elsewhere = embeddings.detach().clone()
    elsewhere[1, 3] = 99.0  # padding
    assert term(step(z, elsewhere, ids, words)).item() == pytest.approx(loss.item(), rel=1e-5)
    elsewhere[0, 0] = 99.0  # a special token is seen
    assert term(step(z, elsewhere, ids, words)).item() != pytest.approx(loss.item(), rel=1e-5)
    other = ids.clone()
    other[0, 0] = (other[0, 0] + 1) % 11  # a special token is no target
    assert term(step(z, embeddings, other, words)).item() == pytest.approx(loss.item(), rel=1e-5)


def test_the_decoder_starts_as_in_the_release() -> None:
    """Every linear layer drawn by itself, N(0, 0.02), biases 0; the maps inside attention stay copies of one."""
    torch.manual_seed(0)
    shape = replace(SHAPE, width=96)
    term = Reconstruct(**{**OPTIONS, "layers": 3, "inner": 200}, shape=shape)
    layers = term.decoder.layers
    linear = ("self_attn.out_proj", "multihead_attn.out_proj", "linear1", "linear2")
    for name in linear:
        drawn = [layer.get_submodule(name) for layer in layers]
        for value in drawn:
            assert value.weight.std().item() == pytest.approx(0.02, rel=0.04)
            assert value.weight.mean().item() == pytest.approx(0, abs=1e-3)
            assert not value.bias.any()
        assert not torch.equal(drawn[0].weight, drawn[1].weight)
        assert not torch.equal(drawn[1].weight, drawn[2].weight)
    for name in ("self_attn", "multihead_attn"):
        inside = [layer.get_submodule(name).in_proj_weight for layer in layers]
        assert torch.equal(inside[0], inside[1])
        assert inside[0].abs().max() <= (6 / (4 * 96)) ** 0.5  # Xavier's bound for a map of 96 to three times 96
        assert not layers[0].get_submodule(name).in_proj_bias.any()
