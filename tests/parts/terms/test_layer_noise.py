"""The layer-noise term: hand-worked numbers, the equation in loops, and which layers it looks at."""

import math

import pytest
import torch

from cseb.encoder.interface import EncodedView, Shape
from cseb.parts import LossInputs
from cseb.parts.terms.dimension_contrast import LayerNoise, groups, neighbourhood

CLEAN = torch.tensor([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], dtype=torch.float64)
NOISED = torch.tensor([[0.1, 0.0], [3.0, 3.9], [6.1, 8.1]], dtype=torch.float64)


def shape(layers: int) -> Shape:
    return Shape(width=2, layers=layers, heads=1, mask_token=True, pooled=False, dropout=0.1)


def step(layers: list[torch.Tensor], seed: int = 0) -> LossInputs:
    """One view whose first tokens are `layers`, each (B, D); a second token stands beside them."""
    none = torch.zeros(len(layers[0]), 2, dtype=torch.long)
    states = [torch.stack([layer, 99 * layer + 1], dim=1) for layer in layers]
    return LossInputs(
        [EncodedView(layers[0], layers[0], none, none, none, layers=states)], torch.Generator().manual_seed(seed)
    )


def random(layers: int, seed: int = 1) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(5, 2, generator=rng, dtype=torch.float64) for _ in range(layers + 1)]


def term(layers: int, deviation: float = 0.0) -> LayerNoise:
    return LayerNoise(deviation=deviation, scale=20.0, shape=shape(layers))


def test_neighbourhood_equals_the_sum_written_out() -> None:
    total = 0.0
    for j in range(3):
        total += math.log(
            sum(math.exp(-sum((NOISED[j, d] - CLEAN[k, d]).item() ** 2 for d in range(2)) / 20) for k in range(3))
        )
    assert neighbourhood(NOISED, CLEAN, 20.0).item() == pytest.approx(-total / 3)


@pytest.mark.parametrize(
    ("depth", "lower", "middle", "upper"),
    [
        (2, [0], [1], [2]),
        (4, [0], [1], [2, 3, 4]),
        (6, [0, 1], [2, 3], [4, 5, 6]),
        (8, [0, 1, 2], [3, 4, 5], [6, 7, 8]),
        (12, [0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11, 12]),
        (24, [*range(8)], [*range(8, 16)], [*range(16, 25)]),
    ],
)
def test_groups_are_thirds_as_released(depth: int, lower: list[int], middle: list[int], upper: list[int]) -> None:
    """Written out from `num_layers // 3`, where num_layers counts the embeddings too."""
    assert [list(range(depth + 1))[group] for group in groups(depth)] == [lower, middle, upper]


@pytest.mark.parametrize("depth", [4, 8, 24])
def test_noise_goes_to_the_layers_of_the_release(depth: int) -> None:
    layers = random(depth)
    total = 0.0
    third = len(layers) // 3
    for factor, start, end in ((0.25, 0, third), (0.5, third, 2 * third), (1.0, 2 * third, len(layers))):
        mean = sum(layers[start:end]) / (end - start)
        distances = [[sum((mean[j] - mean[k]) ** 2).item() for k in range(5)] for j in range(5)]
        total -= factor * sum(math.log(sum(math.exp(-d / 20) for d in row)) for row in distances) / 5
    assert term(depth)(step(layers)).item() == pytest.approx(-total)


def test_noise_is_drawn_for_each_group_and_added_to_one_side() -> None:
    layers = random(2)  # a group each
    drawn = torch.Generator().manual_seed(3)
    total = 0.0
    for factor, clean in zip((0.25, 0.5, 1.0), layers, strict=True):
        noised = clean + 0.5 * torch.randn(5, 2, generator=drawn, dtype=torch.float64)
        total -= factor * neighbourhood(noised, clean, 20.0).item()
    assert term(2, 0.5)(step(layers, seed=3)).item() == pytest.approx(total)


def test_order_of_the_batch_single_sentences_and_equal_rows() -> None:
    layers = random(4)
    order = torch.tensor([4, 2, 0, 1, 3])
    once = term(4)(step(layers)).item()
    assert term(4)(step([layer[order] for layer in layers])).item() == pytest.approx(once)
    assert term(4)(step([layer[:1] for layer in layers])).item() == pytest.approx(0)
    equal = [torch.ones(5, 2, dtype=torch.float64)] * 5
    assert term(4)(step(equal)).item() == pytest.approx(1.75 * math.log(5))  # the worst there is
    assert once < 1.75 * math.log(5)


def test_gradients_are_right() -> None:
    layers = tuple(layer.requires_grad_() for layer in random(2))
    assert torch.autograd.gradcheck(lambda *inputs: term(2, 0.1)(step(list(inputs))), layers)
