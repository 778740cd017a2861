"""DCLR's contrast: negatives that a frozen model takes for positives do not count, and noise climbs the loss."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from tests.parts.terms.two_views import cosine, debiased, random, step


def flagged(frozen: list[torch.Tensor], threshold: float) -> list[list[bool]]:
    return [[i != j and cosine(a, b) > threshold for j, b in enumerate(frozen[1])] for i, a in enumerate(frozen[0])]


@pytest.mark.parametrize("form", ["released", "weighted"])
def test_flagged_negatives_do_not_count(form: str) -> None:
    left, right = random(4)
    frozen = [z.detach() for z in random(4, seed=5)]
    out = flagged(frozen, 0.3)
    assert 0 < sum(map(sum, out)) < 12
    total = 0.0
    for i in range(4):
        logits = [cosine(left[i], right[j]) / 0.5 for j in range(4)]
        if form == "weighted":
            total -= logits[i] - math.log(sum(math.exp(logits[j]) for j in range(4) if not out[i][j]))
            continue
        logits = [0.0 if out[i][j] else logits[j] for j in range(4)]
        chances = [math.exp(one) / sum(map(math.exp, logits)) for one in logits]
        total -= sum(math.log(chances[j] if j == i else 1 - chances[j]) for j in range(4)) / 4
    found = debiased(noise=0.0, form=form)(replace(step(left, right), frozen=[frozen]))
    assert found.item() == pytest.approx(total / 4)


def test_noise_climbs_and_stays_a_constant() -> None:
    left, right = random(4)
    batch = torch.zeros(4, 4, dtype=torch.float64)

    def cost(ascents: int) -> float:
        term = debiased(noise=1.5, ascents=ascents)
        noise = term.hardest(left.detach(), batch, torch.Generator().manual_seed(1))
        assert noise.shape == (6, 4)
        assert not noise.requires_grad
        return (F.normalize(left, dim=1) @ F.normalize(noise, dim=1).T / 0.5).exp().sum(dim=1).log1p().sum().item()

    assert cost(0) < cost(2) < cost(8)
    with_noise = debiased(noise=1.5)(replace(step(left, right), frozen=[[left.detach(), right.detach()]]))
    with_noise.backward()
    assert left.grad is not None
