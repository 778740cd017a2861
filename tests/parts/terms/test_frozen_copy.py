"""SG-OPT's contrast with all layers of a frozen copy: the equation in loops."""

import math

import pytest
import torch

from cseb.parts.terms.agreement import multi_layer_nce
from tests.parts.terms.two_views import cosine, random


@pytest.mark.parametrize("temperature", [0.01, 0.5])
def test_layers_share_their_negatives(temperature: float) -> None:
    anchors, _ = random(3)
    layers = torch.randn(3, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()

    def d(i: int, j: int, k: int) -> float:
        return math.exp(cosine(anchors[i], layers[j, k]) / temperature)

    total = 0.0
    for i in range(3):
        rest = sum(d(i, j, k) for j in range(3) if j != i for k in range(2))
        total -= sum(math.log(d(i, i, k) / (d(i, i, k) + rest)) for k in range(2))
    assert multi_layer_nce(anchors, layers, temperature).item() == pytest.approx(total / 6)
    assert torch.autograd.gradcheck(lambda a, b: multi_layer_nce(a, b, 0.5), (anchors, layers))
    assert multi_layer_nce(anchors[:1], layers[:1], 0.01).item() == 0
    order = torch.tensor([2, 0, 1])
    assert torch.allclose(multi_layer_nce(anchors[order], layers[order], 0.5), multi_layer_nce(anchors, layers, 0.5))
