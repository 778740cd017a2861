"""VaSCL's adversarial view: neighbours, both losses in loops, and the direction of the push."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from cseb.parts.terms.adversarial import neighbour_nce, neighbourhood, nt_xent_knn, steepest_direction
from tests.parts.terms.two_views import random, step, virtual


def test_steepest_is_a_row_of_length_1_along_the_gradient_and_leaves_weights_alone() -> None:
    weight = torch.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    with torch.no_grad():  # as when held-out sentences are looked at
        result = steepest_direction(torch.tensor([[1.0, 1.0], [0.0, 0.0]]), lambda x: ((x @ weight) ** 2).sum() / 2)
    assert torch.allclose(result, torch.tensor([[9 / math.hypot(9, 16), 16 / math.hypot(9, 16)], [0.0, 0.0]]))
    assert weight.grad is None
    assert not result.requires_grad


def test_neighbours_are_the_nearest_others() -> None:
    vectors = torch.tensor([[1.0, 0.0], [2.0, 0.1], [-1.0, 3.0], [0.0, 1.0]])
    assert neighbourhood(vectors, 1).flatten().tolist() == [1, 0, 3, 2]
    assert neighbourhood(vectors, 16).shape == (4, 3)
    assert all(i not in row for i, row in enumerate(neighbourhood(vectors, 16).tolist()))


def test_both_losses_among_neighbours_equal_the_sums_written_out() -> None:
    a, g = (F.normalize(z.detach(), dim=1) for z in random(4))
    neighbours = torch.tensor([[1, 2], [0, 3], [3, 1], [0, 1]])
    inner = outer = 0.0
    for i in range(4):
        own = math.exp(a[i] @ g[i] / 0.5)
        inner -= math.log(own / (own + sum(math.exp(g[i] @ a[j] / 0.5) for j in neighbours[i])))
        for row in (a[i], g[i]):
            rest = sum(math.exp(row @ a[j] / 0.5) + math.exp(row @ g[j] / 0.5) for j in neighbours[i])
            outer -= math.log(own / (own + rest))
    assert neighbour_nce(a, g, neighbours, 0.5).item() == pytest.approx(inner / 4)
    assert nt_xent_knn(a, g, neighbours, 0.5).item() == pytest.approx(outer / 8)


def test_the_virtual_view_is_harder_to_tell_than_one_pushed_at_random() -> None:
    vectors = random(6)[0].detach()
    neighbours, anchors = neighbourhood(vectors, 2), F.normalize(vectors, dim=1)
    start = F.normalize(torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), dim=1)

    def confused(push: torch.Tensor) -> torch.Tensor:
        return neighbour_nce(anchors, F.normalize(vectors + 0.1 * push, dim=1), neighbours, 0.5)

    assert confused(steepest_direction(start, confused)) > confused(start)


@pytest.mark.parametrize("detach", [True, False])
def test_the_virtual_term_is_the_contrast_with_the_worst_push(detach: bool) -> None:
    left, right = random(5)
    with torch.no_grad():
        left[0] *= 9  # near to many by dot product, not by angle
    head = torch.nn.Linear(4, 3).double()
    drawn = torch.rand(left.shape, generator=torch.Generator().manual_seed(7)) - 0.5
    start = F.normalize(drawn, dim=1).double().requires_grad_()
    neighbours, h = neighbourhood(left.detach(), 2), left.detach() if detach else left
    fixed = F.normalize(head(left.detach()), dim=1).detach()
    moved = F.normalize(head(left.detach() + 1.5 * start), dim=1)
    slope = torch.autograd.grad(neighbour_nce(fixed, moved, neighbours, 0.5), start)[0]
    anchors = fixed if detach else F.normalize(head(h), dim=1)
    expected = nt_xent_knn(anchors, F.normalize(head(h + 1.5 * F.normalize(slope, dim=1)), dim=1), neighbours, 0.5)
    main = replace(step(left, right), head=head, rng=torch.Generator().manual_seed(7))
    value = virtual(detach=detach)(main)
    assert value.item() == pytest.approx(expected.item())
    learners = [head.weight] if detach else [head.weight, left]
    slopes = [torch.autograd.grad(loss, learners) for loss in (value, expected)]
    assert all(torch.allclose(a, b) for a, b in zip(*slopes, strict=True))


@pytest.mark.parametrize("detach", [True, False])
def test_as_released_the_virtual_view_trains_the_head_alone(detach: bool) -> None:
    left, right = random(5)
    head = torch.nn.Linear(4, 3).double()
    loss = virtual(detach=detach)(replace(step(left, right), head=head))
    encoder, weight = torch.autograd.grad(loss, [left, head.weight], allow_unused=True)
    assert (encoder is None) is detach
    assert weight.abs().max() > 0
