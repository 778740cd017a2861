"""Dropout with cheap masks: its rate, its scale, its gradient, and that it draws from torch's own generator."""

import math

import pytest
import torch

from cseb.encoder.packed import STEPS, dropped


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9, 1 / STEPS])
def test_the_share_of_zeros_is_the_rate(rate: float) -> None:
    torch.manual_seed(0)
    size = 4_000_001  # no multiple of the elements that share a draw
    result = dropped(torch.ones(size), rate)
    exact = round(rate * STEPS) / STEPS
    zeros = int((result == 0).sum())
    assert abs(exact - rate) <= 0.5 / STEPS
    assert abs(zeros - size * exact) < 5 * math.sqrt(size * exact * (1 - exact))
    assert result[result != 0].unique().tolist() == pytest.approx([1 / (1 - exact)])


def test_elements_that_share_a_draw_are_independent() -> None:
    torch.manual_seed(0)
    zeros = (dropped(torch.ones(400_000), 0.5) == 0).float().view(-1, 4)
    assert zeros.T.corrcoef().fill_diagonal_(0).abs().max() < 5 / math.sqrt(100_000)


def test_the_generator_decides_and_goes_on() -> None:
    x = torch.ones(1000)
    torch.manual_seed(3)
    first, second = dropped(x, 0.5), dropped(x, 0.5)
    torch.manual_seed(3)
    again = dropped(x, 0.5)
    assert torch.equal(first, again)
    assert not torch.equal(first, second)


def test_a_rate_of_nothing_draws_nothing() -> None:
    x, state = torch.randn(5, 3), torch.get_rng_state()
    assert torch.equal(dropped(x, 0.0), x)
    assert torch.equal(dropped(x, 0.0, onto=x), x + x)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_rate_of_all_leaves_what_it_is_added_to() -> None:
    x, onto = torch.randn(5, 3), torch.randn(5, 3)
    assert torch.equal(dropped(x, 1.0), torch.zeros(5, 3))
    assert torch.equal(dropped(x, 1.0, onto), onto)


def test_gradients_pass_where_values_do() -> None:
    x, onto = torch.randn(50, 30, requires_grad=True), torch.randn(50, 30, requires_grad=True)
    torch.manual_seed(0)
    dropped(x, 0.25, onto).sum().backward()
    torch.manual_seed(0)
    kept = dropped(torch.ones(50, 30), 0.25)
    torch.testing.assert_close(x.grad, kept)
    assert torch.equal(onto.grad, torch.ones(50, 30))


@pytest.mark.parametrize("x", [torch.randn(6, 5).mT, torch.randn(2, 3, 5).bfloat16(), torch.empty(0, 4)])
def test_any_layout_type_and_size_will_do(x: torch.Tensor) -> None:
    result = dropped(x, 0.5)
    assert (result.shape, result.dtype) == (x.shape, x.dtype)
    assert torch.equal(result, torch.where(result == 0, 0 * x, 2 * x))
