"""RCL's terms: the equations in loops, and their edges."""

import math

import pytest
import torch

from cseb.parts.terms.agreement import Entropy, Regulators, entropy
from tests.parts.terms.two_views import step


def blocks(count: int, batch: int = 4) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(5)
    return [torch.randn(batch, 6, generator=rng, dtype=torch.float64) for _ in range(count)]


@pytest.mark.parametrize("all_columns", [True, False])
@pytest.mark.parametrize("hard", [True, False])
def test_entropy_written_out(all_columns: bool, hard: bool) -> None:
    q, d, n = blocks(3)
    columns = torch.cat([d, n]) if hard else d
    total = 0.0
    for i in range(4):
        powers = [math.exp(torch.cosine_similarity(q[i], row, dim=0).item() / 0.2) for row in columns]
        shares = [power / sum(powers) for power in powers]
        total -= sum(share * math.log(share) for j, share in enumerate(shares) if all_columns or j != i)
    loss = Entropy(temperature=0.2, all_columns=all_columns)(step(q, d, *([n] if hard else [])))
    assert loss.item() == pytest.approx(total / 4)


def test_regulation_written_out() -> None:
    q, d, *frozen = blocks(8)
    total = 0.0
    for anchors, constants in zip((q, d) * 3, frozen, strict=True):
        for i in range(4):
            powers = [math.exp(torch.cosine_similarity(anchors[i], row, dim=0).item() / 0.2) for row in constants]
            total += math.log(sum(powers) / powers[i]) / 4
    inputs = step(q, d, frozen=[frozen[:2], frozen[2:4], frozen[4:]])
    assert Regulators(temperature=0.2, average=False)(inputs).item() == pytest.approx(total)
    assert Regulators(temperature=0.2, average=True)(inputs).item() == pytest.approx(total / 3)


def test_edges() -> None:
    q, d = blocks(2, batch=1)
    assert entropy(q, d, 0.05, all_columns=True).item() == 0  # one pair is certain
    assert entropy(q, d, 0.05, all_columns=False).item() == 0
    equal = q.expand(4, 6)
    assert entropy(equal, equal, 0.05, all_columns=True).item() == pytest.approx(math.log(4))
    assert entropy(equal, equal, 0.05, all_columns=False).item() == pytest.approx(math.log(4) * 3 / 4)
    sure = torch.eye(4, dtype=torch.float64, requires_grad=True)
    value = entropy(sure, torch.eye(4, dtype=torch.float64), 1e-4, all_columns=True)  # p underflows to 0
    value.backward()
    assert value.item() == 0
    assert torch.isfinite(sure.grad).all()
