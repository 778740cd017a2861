"""Linear layers by the other library: the same products, the same gradients, where it is asked for and nowhere else."""

import copy
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from cseb.encoder import linear
from cseb.encoder.linear import OneDNN

available = pytest.mark.skipif(not linear.available(), reason="this PyTorch cannot take oneDNN")


def by_onednn(y: Tensor) -> bool:
    """Whether `_Linear` computed this, or what it is a view of."""
    return any("_Linear" in type(node).__name__ for node in (y.grad_fn, y.grad_fn.next_functions[0][0]))


def gradients(layer: nn.Linear, x: Tensor) -> list[Tensor | None]:
    x = x.detach().requires_grad_()
    layer.zero_grad()
    y = layer(x)
    (y * torch.arange(y.numel(), dtype=y.dtype).view_as(y) / y.numel()).sum().backward()
    return [y.detach(), x.grad, *(weight.grad for weight in layer.parameters())]


@available
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(3, 5, 24), (7, 24), (2, 1, 4, 24)])
def test_values_and_gradients_are_those_of_the_layer_in_float64(shape: tuple[int, ...], bias: bool) -> None:
    torch.manual_seed(0)
    layer, x = nn.Linear(24, 16, bias=bias), torch.randn(shape)
    exact = gradients(copy.deepcopy(layer).double(), x.double())
    with OneDNN():
        result = gradients(layer, x)
    assert len(result) == 3 + bias
    for ours, theirs in zip(result, exact, strict=True):
        torch.testing.assert_close(ours.double(), theirs, rtol=1e-5, atol=1e-5)


@available
def test_it_is_the_other_library_that_computes() -> None:
    """What differs is rounding, so somewhere in a large product a bit must."""
    torch.manual_seed(0)
    x, layer = torch.randn(64, 512), nn.Linear(512, 512)
    plain = layer(x)
    with OneDNN():
        fast = layer(x)
    assert by_onednn(fast)
    torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (torch.randn(8), torch.float32),
        (torch.empty(0, 8), torch.float32),
        (torch.randn(2, 8).double(), torch.float64),
        (torch.randn(2, 8).bfloat16(), torch.bfloat16),
    ],
)
def test_what_it_is_not_for_stays_as_it_is(x: Tensor, dtype: torch.dtype) -> None:
    layer = nn.Linear(8, 4).to(dtype)
    with OneDNN():
        result = layer(x)
    assert torch.equal(result, layer(x))
    assert not by_onednn(result)


def test_lower_precision_that_is_asked_for_is_given() -> None:
    with OneDNN(), torch.autocast("cpu", torch.bfloat16):
        assert nn.Linear(8, 4)(torch.randn(2, 8)).dtype == torch.bfloat16


@available
def test_frozen_weights_get_no_gradient() -> None:
    layer, x = nn.Linear(8, 4).requires_grad_(False), torch.randn(3, 8, requires_grad=True)
    with OneDNN():
        layer(x).sum().backward()
    assert layer.weight.grad is None
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(3, 8))


@available
@pytest.mark.parametrize("shape", [(3, 8), (2, 3, 8)])
def test_a_network_may_change_the_result_in_place(shape: tuple[int, ...]) -> None:
    """As Longformer and RoCBert do."""
    layer, x = nn.Linear(8, 4), torch.randn(shape, requires_grad=True)
    with OneDNN():
        y = layer(x)
    y /= 2
    y.sum().backward()
    torch.testing.assert_close(x.grad, layer.weight.sum(0).expand(shape) / 2)


@available
def test_what_is_taken_holds_until_it_is_given_back() -> None:
    before = linear.taken()
    with linear.taking("onednn"):
        assert linear.taken() == "onednn"
        with linear.chosen():
            assert by_onednn(nn.Linear(8, 4)(torch.randn(3, 8)))
    assert linear.taken() == before


def test_an_operator_that_is_gone_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.ops, "mkldnn", SimpleNamespace(), raising=False)
    assert not linear.available()
