"""Contrastive terms: the equations in loops, hard negatives and the queue."""

import math
from dataclasses import replace

import pytest
import torch

from cseb.parts import Queued
from cseb.parts.terms.infonce import (
    Alignment,
    EachNCE,
    InfoNCE,
    Reconstruction,
    info_nce,
    off_diagonal,
    squared_distance,
)
from tests.parts.terms.two_views import cosine, random, step

Z1 = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
Z2 = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
QUEUE = torch.tensor([[1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
ALL = torch.ones(2, 2, dtype=torch.bool)


def test_literal_equation_2_of_micse() -> None:
    loss = InfoNCE(temperature=0.5, negatives="batch", form="literal")(step(Z1, Z2, queue=Queued(QUEUE, ALL)))
    assert loss.item() == pytest.approx(0.2684172512, abs=1e-9)


def test_an_own_old_key_is_no_candidate_of_equation_2() -> None:
    allowed = [[False, True], [True, False]]
    total = 0.0
    for i in range(2):
        others = [Z1[1 - i], *(QUEUE[k] for k in range(2) if allowed[i][k])]
        total += math.log(sum(math.exp(cosine(Z1[i], other) / 0.5) for other in others)) - cosine(Z1[i], Z2[i]) / 0.5
    loss = InfoNCE(temperature=0.5, form="literal")(step(Z1, Z2, queue=Queued(QUEUE, torch.tensor(allowed))))
    assert loss.item() == pytest.approx(total)


def test_positives_only_sets_other_logits_to_zero() -> None:
    rows = [math.log(1 + math.exp(-cosine / 0.5)) for cosine in (0.6, 1.0)]
    loss = InfoNCE(temperature=0.5, negatives="zeroed", form="released")(step(Z1, Z2))
    assert loss.item() == pytest.approx(sum(rows) / 2)


def test_alignment_is_one_minus_cosine() -> None:
    assert Alignment()(step(Z1, Z2)).item() == pytest.approx(0.2)


def test_reconstruction_equals_its_loops() -> None:
    left, right = random(3)
    units = [[[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in side.tolist()] for side in (left, right)]

    def distance(sides: list[list[list[float]]]) -> float:
        return sum((a - b) ** 2 for u, v in zip(*sides, strict=True) for a, b in zip(u, v, strict=True)) / 3

    unit, raw = distance(units), distance([left.tolist(), right.tolist()])
    for form, expected in (("unit", unit), ("released", 2 * unit / 4), ("raw", raw)):
        assert Reconstruction(form=form)(step(left, right)).item() == pytest.approx(expected)


def test_reconstruction_of_equal_views_is_0_without_a_gradient_and_lengths_count_for_raw_alone() -> None:
    left, right = random(5)
    for form in ("released", "unit", "raw"):
        distance = squared_distance(left, right, form)
        assert torch.allclose(distance, squared_distance(3 * left, 0.2 * right, form)) is (form != "raw")
        equal = squared_distance(left, left.detach(), form)
        assert equal.item() == pytest.approx(0, abs=1e-12)
        assert torch.autograd.grad(equal, left)[0].abs().max() < 1e-9
        assert torch.isfinite(squared_distance(left[:1] * 0, right[:1], form))


def test_every_positive_has_a_contrast_of_its_own() -> None:
    left, right = random(4)
    third = random(4, seed=8)[0]
    main = step(left, right)
    more = replace(main, views=[*main.views, step(third, third).views[0]])
    expected = info_nce(left, right, 0.05) + info_nce(left, third, 0.05)
    assert EachNCE(temperature=0.05)(more).item() == pytest.approx(expected.item())


def hard_term(weight: float = 1.0, temperature: float = 0.5, **options: str) -> InfoNCE:
    return InfoNCE(temperature=temperature, hard_weight=weight, **{"negatives": "batch", "form": "released", **options})


def hard_blocks(batch: int, queued: int = 0) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(3)
    return [torch.randn(size, 5, generator=rng, dtype=torch.float64) for size in (batch, batch, batch, queued)]


@pytest.mark.parametrize("weight", [None, 0.5, 1.0, 2.0])  # None: there are no hard negatives
@pytest.mark.parametrize("queued", [0, 3])
def test_the_sum_written_out(weight: float | None, queued: int) -> None:
    a, p, n, q = hard_blocks(4, queued)
    hard = [] if weight is None else [n]
    allowed = torch.rand(4, queued, generator=torch.Generator().manual_seed(0)) > 0.4

    def e(left: torch.Tensor, right: torch.Tensor) -> float:
        return math.exp(torch.cosine_similarity(left, right, dim=0).item() / 0.05)

    rows = []
    for i in range(4):
        below = sum(e(a[i], p[j]) for j in range(4))
        below += sum(e(a[i], other[j]) * (weight if i == j else 1) for other in hard for j in range(4))
        below += sum(e(a[i], q[j]) for j in range(queued) if allowed[i, j])
        rows.append(math.log(below / e(a[i], p[i])))
    queue = Queued(q, allowed) if queued else None
    assert hard_term(weight or 1.0, 0.05)(step(a, p, *hard, queue=queue)).item() == pytest.approx(sum(rows) / 4)


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("rest", [(), (3,)])
def test_off_diagonal_leaves_the_diagonal_out(size: int, rest: tuple[int, ...]) -> None:
    matrix = torch.randn(size, size, *rest)
    rows = [[matrix[i, j] for j in range(size) if i != j] for i in range(size)]
    expected = torch.stack([each for row in rows for each in row]) if size > 1 else matrix[:, :0]
    assert torch.equal(off_diagonal(matrix), expected.reshape(size, size - 1, *rest))
