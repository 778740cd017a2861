"""Heads against hand-worked numbers."""

import copy
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.parts.heads import (
    BNMLP,
    GELUMLP,
    MLP,
    BarlowProjector,
    BatchNorm,
    GroupWhiten,
    Linear,
    Paraphraser,
    Project,
    ReLUMLP,
    whiten_groups,
)

SHAPE = Shape(width=2, layers=1, heads=1, mask_token=False, pooled=False, dropout=0.1)
H = torch.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=torch.float64)


def given(head: MLP | Linear) -> MLP | Linear:
    head = head.double()
    with torch.no_grad():
        head.dense.weight.copy_(torch.tensor([[1.0, 0.5], [-0.5, 2.0]]))
        head.dense.bias.copy_(torch.tensor([0.1, -0.2]))
    return head


def test_mlp_is_tanh_of_a_linear_map() -> None:
    result = given(MLP(keep=False, shape=SHAPE))(H)
    assert result[0].tolist() == pytest.approx([0.0996679946, -0.9852169173])
    assert result[1].tolist() == pytest.approx([0.976912495, -0.6043677771])


def test_linear_is_the_same_without_tanh() -> None:
    assert torch.allclose(given(Linear(keep=False, shape=SHAPE))(H).tanh(), given(MLP(keep=True, shape=SHAPE))(H))


def test_a_copied_head_shares_the_tokenizer_of_the_shape() -> None:
    assert copy.deepcopy(MLP(shape=SHAPE)).shape is SHAPE


def test_the_projector_of_scd_is_three_layers_with_normalised_rectified_steps_between() -> None:
    torch.manual_seed(0)
    head = BarlowProjector(width=3, shape=SHAPE).double().train()
    first, second, third = (layer for layer in head.layers if isinstance(layer, torch.nn.Linear))
    assert first.bias is not None
    assert second.bias is None
    assert third.bias is None

    def step(x: torch.Tensor) -> torch.Tensor:
        spread = (x - x.mean(dim=0)).square().mean(dim=0)
        return ((x - x.mean(dim=0)) / (spread + 1e-5).sqrt()).clamp(min=0)

    expected = step(step(H @ first.weight.T + first.bias) @ second.weight.T) @ third.weight.T
    assert torch.allclose(head(H), expected)
    assert not head.keep


def test_batch_normalisation_of_one_row_is_by_the_rows_before_it() -> None:
    norm = BatchNorm(2).double().train()
    assert torch.allclose(norm(H[:1]), H[:1], atol=1e-4)  # nothing seen yet: mean 0, spread 1
    norm(H)
    assert torch.allclose(norm(H[:1]), norm.eval()(H[:1]))


def test_the_head_of_diffcse_ends_in_normalised_coordinates() -> None:
    torch.manual_seed(0)
    head = BNMLP(inner=300, shape=SHAPE).double().train()
    rows = torch.randn(50, 2, dtype=torch.float64)
    assert torch.allclose(head(rows).mean(dim=0), torch.zeros(2, dtype=torch.float64), atol=1e-9)
    assert torch.allclose(head(rows).var(dim=0, unbiased=False), torch.ones(2, dtype=torch.float64), atol=1e-2)
    assert [tuple(weight.shape) for weight in head.parameters()] == [(300, 2), (300,), (300,), (2, 300)]


@pytest.mark.parametrize("width", [128, 384, 768])
def test_the_head_of_diffcse_is_twice_as_wide_as_the_encoder(width: int) -> None:
    head = BNMLP(shape=replace(SHAPE, width=width))
    assert [tuple(weight.shape) for weight in head.parameters()] == [
        (2 * width, width), (2 * width,), (2 * width,), (width, 2 * width),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "width"),
    [
        (lambda shape: BNMLP(inner=300, shape=shape), 200),
        (lambda shape: BarlowProjector(width=300, shape=shape), 200),
        (lambda shape: ReLUMLP(width=128, rate=100.0, shape=shape), 300),
        (lambda shape: GELUMLP(width=300, shape=shape), 200),
    ],
)
def test_linear_layers_start_as_in_the_authors_code(head: Callable[[Shape], torch.nn.Module], width: int) -> None:
    torch.manual_seed(0)
    layers = [layer for layer in head(replace(SHAPE, width=width)).modules() if isinstance(layer, torch.nn.Linear)]
    assert len(layers) >= 2
    for layer in layers:
        assert layer.weight.std().item() == pytest.approx(0.02, rel=0.02)
        assert layer.weight.mean().item() == pytest.approx(0, abs=1e-3)
        assert layer.bias is None or not layer.bias.any()


@pytest.mark.parametrize("inner", ["x", "2", "0x", "-1x", "2.5x", "2xx", "\u00b2x", "9999x", True, 0, 1.5, None])
def test_a_width_that_cannot_be_is_refused(inner: object) -> None:
    with pytest.raises(BadSpec, match="bn_mlp: inner is"):
        BNMLP(inner=inner, shape=SHAPE)


def test_the_head_of_sg_opt_is_two_layers_with_gelu_behind_both() -> None:
    head = GELUMLP(width=3, shape=SHAPE).double()
    first, second = (layer for layer in head.layers if isinstance(layer, torch.nn.Linear))
    gelu = torch.nn.functional.gelu
    assert torch.allclose(head(H), gelu(gelu(H @ first.weight.T + first.bias) @ second.weight.T + second.bias))


def test_groups_are_whitened_each_by_itself() -> None:
    rng = torch.Generator().manual_seed(0)
    h = torch.randn(9, 6, generator=rng, dtype=torch.float64) @ torch.randn(6, 6, generator=rng).double()
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    result = whiten_groups(h, order, 2, 1e-5)
    for group in ([3, 0, 5], [1, 4, 2]):
        x = h[:, group].numpy() - h[:, group].numpy().mean(axis=0)
        spread = x.T @ x / 9 + 1e-5 * np.eye(3)
        values, vectors = np.linalg.eigh(spread)
        assert np.allclose(result[:, group].numpy(), x @ vectors @ np.diag(values**-0.5) @ vectors.T)
        assert np.allclose(result[:, group].T.numpy() @ result[:, group].numpy() / 9, np.eye(3), atol=1e-3)


def test_the_whitening_matrix_is_a_constant_for_the_gradient() -> None:
    h = torch.randn(9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).requires_grad_()
    factors = torch.arange(36.0, dtype=torch.float64).view(9, 4)
    white = whiten_groups(h, torch.arange(4), 1, 1e-5)
    centred = h.detach() - h.detach().mean(dim=0)
    matrix = torch.linalg.lstsq(centred, white.detach()).solution
    (slope,) = torch.autograd.grad((white * factors).sum(), h)
    through = factors @ matrix.T
    assert torch.allclose(slope, through - through.mean(dim=0))


@pytest.mark.parametrize("rows", [1, 2, 8])
def test_group_whitening_of_few_or_equal_rows_is_finite(rows: int) -> None:
    head = GroupWhiten(groups=1, epsilon=1e-5, shape=SHAPE)
    for h in (torch.randn(rows, 2, generator=torch.Generator().manual_seed(1)), torch.ones(rows, 2)):
        x = h.clone().requires_grad_()
        head(x).square().sum().backward()
        assert x.grad.isfinite().all()


@pytest.mark.parametrize("seed", range(5))
def test_few_long_rows_are_whitened_without_a_root_of_what_is_below_0(seed: int) -> None:
    h = 1e3 * torch.randn(3, 16, generator=torch.Generator().manual_seed(seed))
    assert whiten_groups(h, torch.arange(16), 1, 1e-5).isfinite().all()


def test_whitened_features_pass_a_layer_and_tanh_and_groups_are_drawn_anew() -> None:
    h = torch.randn(9, 6, generator=torch.Generator().manual_seed(0))
    shape = replace(SHAPE, width=6)
    whole = GroupWhiten(groups=1, shape=shape)  # order does not count
    expected = torch.tanh(whole.dense(whiten_groups(h, torch.arange(6), 1, 1e-5)))
    assert torch.allclose(whole(h), expected, atol=1e-6)
    head = GroupWhiten(groups=3, shape=shape)
    torch.manual_seed(0)
    assert len({round(head(h)[0, 0].item(), 6) for _ in range(9)}) > 1


def test_a_projection_is_bounded_by_tanh_unless_it_is_left_out() -> None:
    for activation, bound in (("tanh", torch.tanh), ("none", lambda x: x)):
        head = Project(width=3, activation=activation, shape=SHAPE).double()
        assert torch.equal(head(H), bound(H @ head.dense.weight.T + head.dense.bias))
        assert head.keep


def test_the_paraphraser_is_three_layers_and_a_bottleneck() -> None:
    head = Paraphraser(inner=5, neck=3, shape=SHAPE).double()
    linear = [layer for layer in head.layers if isinstance(layer, torch.nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == [(2, 5), (5, 5), (5, 5), (5, 3), (3, 5)]
    wide = linear[2](linear[1](linear[0](H).tanh()).tanh())
    assert torch.allclose(head(H), linear[4](linear[3](wide).tanh()))


def test_the_head_of_vascl_has_length_1_and_its_own_rate() -> None:
    head = ReLUMLP(width=5, rate=100.0, shape=SHAPE).double()
    first, last = (layer.weight for layer in head.layers if isinstance(layer, torch.nn.Linear))
    expected = torch.relu(H @ first.T) @ last.T
    assert torch.allclose(head(H), torch.nn.functional.normalize(expected, dim=1))
    assert len(list(head.parameters())) == 2
