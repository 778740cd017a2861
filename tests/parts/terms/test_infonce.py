"""Contrastive terms: numbers worked out by hand, the equations in loops, hard negatives and the queue."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from cseb.parts import Queued
from cseb.parts.terms.infonce import (
    Alignment,
    EachNCE,
    InfoNCE,
    Reconstruction,
    info_nce,
    info_nce_literal,
    info_nce_zeroed,
    off_diagonal,
    squared_distance,
)
from tests.parts.terms.two_views import random, step

Z1 = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
Z2 = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
FOUR1 = torch.tensor([[1.0, 2.0, 2.0, 0.0], [0.0, 0.0, 3.0, 4.0]], dtype=torch.float64)
FOUR2 = torch.tensor([[2.0, 1.0, 2.0, 0.0], [0.0, 3.0, 0.0, 4.0]], dtype=torch.float64)
QUEUE = torch.tensor([[1.0, 1.0], [-1.0, 0.0]], dtype=torch.float64)
ALL = torch.ones(2, 2, dtype=torch.bool)


@pytest.mark.parametrize(("temperature", "loss"), [(0.5, 0.3881488599), (0.05, 0.0090780361)])
def test_info_nce_of_two_sentences(temperature: float, loss: float) -> None:
    assert info_nce(Z1, Z2, temperature).item() == pytest.approx(loss, abs=1e-9)
    assert info_nce(Z2, Z1, 0.5).item() == pytest.approx(0.5199716317, abs=1e-9)  # not symmetric
    assert info_nce(FOUR1, FOUR2, 0.5).item() == pytest.approx(0.400480875, abs=1e-9)


@pytest.mark.parametrize("queue", [0, 3])
def test_info_nce_equals_the_sum_written_out(queue: int) -> None:
    rng = torch.Generator().manual_seed(0)
    a = torch.randn(4, 8, generator=rng, dtype=torch.float64)
    c = torch.randn(4 + queue, 8, generator=rng, dtype=torch.float64)

    def d(i: int, j: int) -> float:
        return math.exp(torch.cosine_similarity(a[i], c[j], dim=0).item() / 0.05)

    rows = [-math.log(d(i, i) / sum(d(i, j) for j in range(len(c)))) for i in range(len(a))]
    assert info_nce(a, c, temperature=0.05).item() == pytest.approx(sum(rows) / len(rows))


def test_info_nce_at_its_limits() -> None:
    eye = torch.eye(5, dtype=torch.float64)
    assert info_nce(eye, eye, 1e9).item() == pytest.approx(math.log(5))
    assert info_nce(eye, eye, 0.05).item() == pytest.approx(math.log(1 + 4 * math.exp(-20)))
    assert info_nce(eye[:1], eye[:1], 0.05).item() == 0  # one sentence has nobody to be told from


def test_queued_negatives_are_further_columns() -> None:
    loss = InfoNCE(temperature=0.5, negatives="batch", form="released")(step(Z1, Z2, queue=Queued(QUEUE, ALL)))
    assert loss.item() == pytest.approx(0.9038809435, abs=1e-9)


def test_literal_equation_2_of_micse() -> None:
    assert info_nce_literal(Z1, Z2, QUEUE, 0.5, ALL).item() == pytest.approx(0.2684172512, abs=1e-9)
    loss = InfoNCE(temperature=0.5, negatives="batch", form="literal")(step(Z1, Z2, queue=Queued(QUEUE, ALL)))
    assert loss.item() == pytest.approx(0.2684172512, abs=1e-9)


def test_a_key_that_is_not_allowed_is_as_if_it_were_not_queued() -> None:
    first_only = torch.tensor([[True, False], [True, False]])
    term = InfoNCE(temperature=0.5, negatives="batch", form="released")
    masked = term(step(Z1, Z2, queue=Queued(QUEUE, first_only)))
    assert masked.item() == pytest.approx(term(step(Z1, Z2, queue=Queued(QUEUE[:1], ALL[:, :1]))).item())


def test_positives_only_sets_other_logits_to_zero() -> None:
    assert info_nce_zeroed(Z1, Z2, 0.5).item() == pytest.approx(0.1951052392, abs=1e-9)
    rows = [math.log(1 + math.exp(-cosine / 0.5)) for cosine in (0.6, 1.0)]
    assert info_nce_zeroed(Z1, Z2, 0.5).item() == pytest.approx(sum(rows) / 2)
    loss = InfoNCE(temperature=0.5, negatives="zeroed", form="released")(step(Z1, Z2))
    assert loss.item() == pytest.approx(0.1951052392, abs=1e-9)


def test_alignment_is_one_minus_cosine() -> None:
    assert Alignment()(step(Z1, Z2)).item() == pytest.approx(0.2)


@pytest.mark.parametrize(
    ("z1", "z2", "form", "value"),
    [
        (Z1, Z2, "released", 0.4),
        (Z1, Z2, "unit", 0.4),
        (Z1, Z2, "raw", 10.5),
        (FOUR1, FOUR2, "released", 0.2355555556),
        (FOUR1, FOUR2, "unit", 0.4711111111),
        (FOUR1, FOUR2, "raw", 10.0),
    ],
)
def test_reconstruction_gives_the_number_worked_out_by_hand(
    z1: torch.Tensor, z2: torch.Tensor, form: str, value: float
) -> None:
    assert Reconstruction(form=form)(step(z1, z2)).item() == pytest.approx(value, abs=1e-9)


def test_reconstruction_equals_its_loops() -> None:
    n1, n2 = ([[x / math.sqrt(sum(y * y for y in row)) for x in row] for row in z.tolist()] for z in (FOUR1, FOUR2))
    unit = sum((a - b) ** 2 for left, right in zip(n1, n2, strict=True) for a, b in zip(left, right, strict=True)) / 2
    assert squared_distance(FOUR1, FOUR2, "unit").item() == pytest.approx(unit)
    assert squared_distance(FOUR1, FOUR2, "released").item() == pytest.approx(2 * unit / 4)
    errors = F.mse_loss(F.normalize(FOUR1, dim=-1), F.normalize(FOUR2, dim=-1))
    assert squared_distance(FOUR1, FOUR2, "released").item() == pytest.approx(2 * errors.item())


def test_the_gradient_through_both_views_is_the_one_worked_out_by_hand() -> None:
    x1 = torch.tensor([[1.0, 0.5], [0.2, -1.0]], dtype=torch.float64)
    x2 = torch.tensor([[0.9, 0.4], [0.1, -0.7]], dtype=torch.float64)
    weight = torch.tensor([[0.7, -0.2], [0.3, 1.1]], dtype=torch.float64).requires_grad_()
    loss = info_nce(F.linear(x1, weight), F.linear(x2, weight), 0.5)
    assert loss.item() == pytest.approx(0.0405178537, abs=1e-9)
    (gradient,) = torch.autograd.grad(loss, weight)
    assert gradient.flatten().tolist() == pytest.approx([0.0601847031, -0.0320778866, -0.0345328491, -0.0347136498])


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


HARD = torch.tensor([[0.0, 1.0], [1.0, 1.0]], dtype=torch.float64)


def hard_term(weight: float = 1.0, temperature: float = 0.5, **options: str) -> InfoNCE:
    return InfoNCE(temperature=temperature, hard_weight=weight, **{"negatives": "batch", "form": "released", **options})


@pytest.mark.parametrize(("weight", "loss"), [(1.0, 1.1079011481), (2.0, 1.2378498823)])
def test_two_triples(weight: float, loss: float) -> None:
    assert hard_term(weight)(step(Z1, Z2, HARD)).item() == pytest.approx(loss, abs=1e-6)


def hard_blocks(batch: int, queued: int = 0) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(3)
    return [torch.randn(size, 5, generator=rng, dtype=torch.float64) for size in (batch, batch, batch, queued)]


@pytest.mark.parametrize("weight", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("queued", [0, 3])
def test_the_sum_written_out(weight: float, queued: int) -> None:
    a, p, n, q = hard_blocks(4, queued)
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
    assert hard_term(weight, 0.05)(step(a, p, n, queue=queue)).item() == pytest.approx(sum(rows) / 4)


def test_order_lengths_and_limits() -> None:
    a, p, n, _ = hard_blocks(5)
    order = torch.randperm(5, generator=torch.Generator().manual_seed(1))
    once = hard_term(2.0)(step(a, p, n)).item()
    assert hard_term(2.0)(step(a[order], p[order], n[order])).item() == pytest.approx(once)
    assert hard_term(2.0)(step(3 * a, 0.1 * p, 7 * n)).item() == pytest.approx(once)
    equal = a[:1].expand(5, 5)
    assert hard_term()(step(equal, equal, equal)).item() == pytest.approx(math.log(10))
    assert hard_term()(step(a[:1], a[:1], a[:1])).item() == pytest.approx(math.log(2))


@pytest.mark.parametrize("size", [1, 2, 5])
@pytest.mark.parametrize("rest", [(), (3,)])
def test_off_diagonal_leaves_the_diagonal_out(size: int, rest: tuple[int, ...]) -> None:
    matrix = torch.randn(size, size, *rest)
    rows = [[matrix[i, j] for j in range(size) if i != j] for i in range(size)]
    expected = torch.stack([each for row in rows for each in row]) if size > 1 else matrix[:, :0]
    assert torch.equal(off_diagonal(matrix), expected.reshape(size, size - 1, *rest))
