"""Hard negatives in InfoNCE: check numbers, the sum written out, and who may meet whom."""

import math

import pytest
import torch

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs, Queued
from cseb.parts.terms.infonce import InfoNCE

H = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
PLUS = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
HARD = torch.tensor([[0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
BALANCED, TOKEN_MEAN = 0.1053516572, 1.7490673265  # of the check cases of dcm and reconstruct


def term(weight: float = 1.0, temperature: float = 0.5, **options: str) -> InfoNCE:
    return InfoNCE(temperature=temperature, hard_weight=weight, **{"negatives": "batch", "form": "released", **options})


def step(*blocks: torch.Tensor, queue: Queued | None = None) -> LossInputs:
    none = torch.zeros(len(blocks[0]), 1, dtype=torch.long)
    return LossInputs([EncodedView(z, z, none, none, none) for z in blocks], torch.Generator(), queue)


@pytest.mark.parametrize(("weight", "loss"), [(1.0, 1.1079011481), (2.0, 1.2378498823)])
def test_two_triples(weight: float, loss: float) -> None:
    assert term(weight)(step(H, PLUS, HARD)).item() == pytest.approx(loss, abs=1e-6)


def test_the_totals_of_msse_without_and_with_hard_negatives() -> None:
    rest = 0.2 * BALANCED + 1.0 * TOKEN_MEAN
    assert term()(step(H, PLUS)).item() + rest == pytest.approx(2.1582865178, abs=1e-6)
    assert term()(step(H, PLUS, HARD)).item() + rest == pytest.approx(2.878038806, abs=1e-6)


def blocks(batch: int, queued: int = 0) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(3)
    return [torch.randn(size, 5, generator=rng, dtype=torch.float64) for size in (batch, batch, batch, queued)]


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("queued", [0, 3])
def test_the_sum_written_out(weight: float, queued: int) -> None:
    a, p, n, q = blocks(4, queued)
    allowed = torch.rand(4, queued, generator=torch.Generator().manual_seed(0)) > 0.4

    def e(left: torch.Tensor, right: torch.Tensor) -> float:
        return math.exp(torch.cosine_similarity(left, right, dim=0).item() / 0.05)

    rows = []
    for i in range(4):
        below = sum(e(a[i], p[j]) for j in range(4))
        below += sum(e(a[i], n[j]) * (weight if i == j else 1) for j in range(4))
        below += sum(e(a[i], q[j]) for j in range(queued) if allowed[i, j])
        rows.append(math.log(below / e(a[i], p[i])))
    queue = Queued(q, allowed) if queued else None
    assert term(weight, 0.05)(step(a, p, n, queue=queue)).item() == pytest.approx(sum(rows) / 4)


def test_order_lengths_and_limits() -> None:
    a, p, n, _ = blocks(5)
    order = torch.randperm(5, generator=torch.Generator().manual_seed(1))
    once = term(2.0)(step(a, p, n)).item()
    assert term(2.0)(step(a[order], p[order], n[order])).item() == pytest.approx(once)
    assert term(2.0)(step(3 * a, 0.1 * p, 7 * n)).item() == pytest.approx(once)
    equal = a[:1].expand(5, 5)
    assert term()(step(equal, equal, equal)).item() == pytest.approx(math.log(10))
    assert term()(step(a[:1], a[:1], a[:1])).item() == pytest.approx(math.log(2))  # one triple: its own hard negative


def test_gradients_are_right() -> None:
    inputs = [block.requires_grad_() for block in blocks(3)[:3]]
    assert torch.autograd.gradcheck(lambda a, p, n: term(2.0)(step(a, p, n)), inputs)
