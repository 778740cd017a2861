"""Margins on angles, edits and hardest negatives: the equations in loops."""

import math

import pytest
import torch

from cseb.parts.terms.infonce import info_nce
from cseb.parts.terms.margins import ArcNCE, BidirMargin, Triplet, add_margin, bidir_margin, hardest_hinge
from tests.parts.terms.two_views import cosine, random, step


def test_the_margin_is_added_to_the_angle_of_the_positive() -> None:
    left, right = random(3)
    total = 0.0
    for i in range(3):
        wide = math.cos(math.acos(cosine(left[i], right[i])) + math.radians(10))
        others = sum(math.exp(cosine(left[i], right[j]) / 0.05) for j in range(3) if j != i)
        total -= math.log(math.exp(wide / 0.05) / (math.exp(wide / 0.05) + others))
    loss = ArcNCE(temperature=0.05, margin=10.0)(step(left, right)).item()
    assert loss == pytest.approx(total / 3, abs=1e-4)
    assert ArcNCE(temperature=0.05, margin=0.0).loss(left, right).item() == pytest.approx(
        info_nce(left, right, 0.05).item(), abs=1e-4
    )
    assert loss > info_nce(left, right, 0.05).item()


def test_a_widened_angle_falls_all_the_way() -> None:
    angles = torch.linspace(0, math.pi, 200, dtype=torch.float64)
    result = add_margin(angles.cos(), math.radians(30))
    assert (result.diff() < 0).all()
    inside = angles < math.pi - math.radians(30)
    assert torch.allclose(result[inside], (angles[inside] + math.radians(30)).cos(), atol=2e-4)
    assert result[-1].item() == pytest.approx(-1 - math.radians(30) / 2)  # beyond pi: cos theta - m sin m
    exact = torch.tensor([1.0, -1.0], requires_grad=True)  # no infinite slope
    add_margin(exact, 0.2).sum().backward()
    assert exact.grad.isfinite().all()


def test_triplets_want_the_less_hidden_edit_nearer() -> None:
    anchors, closer = random(3)
    far, _ = random(3, seed=7)
    margins = [cosine(a, c) - cosine(a, b) for a, b, c in zip(anchors, closer, far, strict=True)]
    loss = Triplet(margin=0.1)(step(anchors, closer, edits=(closer, far)))
    assert loss.item() == pytest.approx(sum(max(0.0, value + 0.1) for value in margins) / 3)
    assert Triplet(margin=0.0)(step(anchors, closer, edits=(anchors, far))).item() == 0
    tell = lambda a, b, c: Triplet(margin=2.0)(step(a, b, edits=(b, c)))
    assert torch.autograd.gradcheck(tell, (anchors, closer, far))


def test_the_margin_is_0_within_both_bounds_alone() -> None:
    differences = torch.tensor([-0.5, -0.3, -0.2, -0.1, 0.1])
    reference = torch.zeros(1)
    costs = [bidir_margin(reference, value[None], 0.1, 0.3).item() for value in differences]
    assert costs == pytest.approx([0.2, 0, 0, 0, 0.2], abs=1e-6)
    left, right = random(3)
    edit = left.detach() + 2 * right.detach()
    moved = [cosine(left[i], edit[i]) - cosine(left[i], right[i]) for i in range(3)]
    expected = sum(max(value + 0.1, 0) + max(-value - 0.3, 0) for value in moved) / 3
    assert BidirMargin(least=0.1, most=0.3)(step(left, right, edits=[edit])).item() == pytest.approx(expected)


@pytest.mark.parametrize("margin", [0.0, 0.2, 2.0])
def test_the_hinge_equals_its_loops(margin: float) -> None:
    (a, p), (n, _) = random(4), random(4, seed=1)
    total = 0.0
    for i in range(4):
        others = [cosine(a[i], p[j]) for j in range(4) if j != i] + [cosine(a[i], n[j]) for j in range(4)]
        total += max(0.0, margin - (cosine(a[i], p[i]) - max(others)))
    assert hardest_hinge(a, p, n, margin).item() == pytest.approx(total / 4, abs=1e-12)
    assert hardest_hinge(a[:1], a[:1], -a[:1], 0.2).item() == 0.0  # a batch of one, its positive beyond the margin
    assert hardest_hinge(a[:1], a[:1], -a[:1], 2.0).item() == pytest.approx(0.0, abs=1e-12)  # nothing but that negative
