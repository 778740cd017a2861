"""AMI: hand-worked numbers, the algorithm in loops, and the edges the release treats in its own way."""

import math
from dataclasses import replace

import pytest
import torch

from cseb.encoder.interface import EncodedView, Shape
from cseb.parts import LossInputs
from cseb.parts.terms.mutual_information import (
    AMI,
    ami,
    head_pairs,
    layer_stride,
    mutual_information,
    upper_layers,
)

# One sentence, 2 layers, 2 heads, 2 real tokens; axes (layer, head, query, key)
VIEW1 = [
    [[[0.7, 0.3], [0.4, 0.6]], [[0.55, 0.45], [0.2, 0.8]]],
    [[[0.5, 0.5], [0.1, 0.9]], [[0.65, 0.35], [0.25, 0.75]]],
]
VIEW2 = [[[[0.6, 0.4], [0.45, 0.55]], [[0.5, 0.5], [0.3, 0.7]]], [[[0.4, 0.6], [0.2, 0.8]], [[0.75, 0.25], [0.3, 0.7]]]]
# The rows that a padding query adds, per layer and head: it attends to the two real tokens
PADDING1 = [[[0.35, 0.65], [0.9, 0.1]], [[0.6, 0.4], [0.8, 0.2]]]
PADDING2 = [[[0.45, 0.55], [0.85, 0.15]], [[0.5, 0.5], [0.7, 0.3]]]
SHAPE = Shape(width=8, layers=2, heads=2, mask_token=False, pooled=False, dropout=0.1)


def maps(rows: list, padding: list | None = None) -> torch.Tensor:
    """(1, layers, heads, T, T)."""
    real = torch.tensor(rows, dtype=torch.float64)[None]
    if padding is None:
        return real
    padded = torch.zeros(1, 2, 2, 3, 3, dtype=torch.float64)
    padded[..., :2, :2] = real
    padded[..., 2, :2] = torch.tensor(padding, dtype=torch.float64)
    return padded


def step(left: torch.Tensor, right: torch.Tensor, mask: list[list[int]], seed: int = 0) -> LossInputs:
    tokens = torch.tensor(mask)
    z = torch.zeros(len(left), 8, dtype=torch.float64)
    views = [EncodedView(z, z, tokens, tokens, tokens, attentions=maps.unbind(1)) for maps in (left, right)]
    return LossInputs(views, torch.Generator().manual_seed(seed))


def term(**options: object) -> AMI:
    return AMI(**{"layers": (0, 1), "scale_by_valid": False, **options}, shape=SHAPE)


def random_maps(seed: int, *shape: int) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.rand(shape or (2, 2, 2, 4, 4), generator=rng, dtype=torch.float64) for _ in range(2)]


def test_slices_hold_the_positions_the_sources_name() -> None:
    numbered = torch.arange(4 * 2 * 4, dtype=torch.float64).reshape(1, 4, 2, 2, 2)  # 4 layers, 2 heads, T = 2
    pairs = head_pairs(numbered)
    assert pairs.shape == (1, 4, 8)
    assert pairs[0, 1].tolist() == numbered[0, 1].flatten().tolist()  # layer 1, heads 0 and 1
    strided = layer_stride(numbered)
    assert strided.shape == (1, 4, 8)
    assert strided[0, 1].tolist() == torch.stack([numbered[0, 1, 0], numbered[0, 3, 0]]).flatten().tolist()
    assert strided[0, 2].tolist() == torch.stack([numbered[0, 0, 1], numbered[0, 2, 1]]).flatten().tolist()


@pytest.mark.parametrize(
    ("slicing", "valid", "padded", "mean", "share"),
    [
        ("head_pairs", "positive", False, 1.3143025495, 1.0),
        ("layer_stride", "positive", False, 1.7132728844, 1.0),
        ("head_pairs", "square", True, 1.3143025495, 4 / 9),
        ("head_pairs", "positive", True, 1.230583869, 6 / 9),
        ("layer_stride", "square", True, 1.7132728844, 4 / 9),
        ("layer_stride", "positive", True, 1.4153967841, 6 / 9),
    ],
)
def test_ami_of_one_sentence(slicing: str, valid: str, padded: bool, mean: float, share: float) -> None:
    left, right = (maps(VIEW1, PADDING1), maps(VIEW2, PADDING2)) if padded else (maps(VIEW1), maps(VIEW2))
    inputs = step(left, right, [[1, 1, 0]] if padded else [[1, 1]])
    assert term(slicing=slicing, valid=valid)(inputs).item() == pytest.approx(-mean, abs=1e-6)
    scaled = term(slicing=slicing, valid=valid, scale_by_valid=True)(inputs).item()
    assert scaled == pytest.approx(-mean * (share**2 + 1e-6), abs=1e-6)


def test_sampled_ami_equals_the_same_draw_in_loops() -> None:
    left, right = random_maps(3, 3, 4, 20)
    valid = torch.rand(3, 4, 20, generator=torch.Generator().manual_seed(4)) > 0.2
    information, fraction = ami(left, right, valid, 12, torch.Generator().manual_seed(7))
    keys = torch.rand((12, 20), generator=torch.Generator().manual_seed(7))
    values, fractions = [], []
    for row in range(12):
        a, b, ok = left.flatten(0, 1)[row], right.flatten(0, 1)[row], valid.flatten(0, 1)[row]
        if ok.sum() < 12:
            continue
        fractions.append(ok.float().mean().item())
        drawn = sorted((i for i in range(20) if ok[i]), key=lambda i: -keys[row, i].item())[:12]
        u = [math.log(a[i].item()) for i in drawn]
        v = [math.log(b[i].item()) for i in drawn]
        mu, mv = sum(u) / 12, sum(v) / 12
        top = sum((x - mu) * (y - mv) for x, y in zip(u, v, strict=True))
        rho2 = top**2 / (sum((x - mu) ** 2 for x in u) * sum((y - mv) ** 2 for y in v))
        values.append(-0.5 * math.log(1 - rho2))
    assert len(values) > 2
    assert information.item() == pytest.approx(sum(values) / len(values))
    assert fraction.item() == pytest.approx(sum(fractions) / len(fractions))


def test_poor_slices_are_left_out_while_one_is_rich() -> None:
    left, right = random_maps(4, 1, 2, 10)
    valid = torch.ones(1, 2, 10, dtype=torch.bool)
    valid[0, 1, 4:] = False
    information, fraction = ami(left, right, valid, 10, torch.Generator().manual_seed(0))
    alone, _ = mutual_information(left[0, :1], right[0, :1])
    assert (information.item(), fraction.item()) == (pytest.approx(alone.item()), 1.0)


def test_the_poorest_slice_decides_when_none_is_rich() -> None:
    left = torch.rand(1, 2, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    valid = torch.ones(1, 2, 6, dtype=torch.bool)
    valid[0, 1, 1:] = False
    information, _ = ami(left, left.flip(-1), valid, 150, torch.Generator())
    assert information.item() == 0  # one position has no correlation


def test_equal_maps_and_flat_maps_are_finite() -> None:
    rng = torch.Generator().manual_seed(6)
    attention = torch.rand(2, 4, 20, generator=rng, dtype=torch.float64).requires_grad_()
    everywhere = torch.ones(2, 4, 20, dtype=torch.bool)
    highest, _ = ami(attention, attention, everywhere, 10, rng)
    assert highest.item() == pytest.approx(-0.5 * math.log(1e-6), abs=1e-3)
    flat = torch.full((2, 4, 20), 0.05, dtype=torch.float64, requires_grad=True)
    information, _ = ami(flat, attention, everywhere, 10, rng)
    information.backward()
    assert information.item() == 0
    assert torch.isfinite(flat.grad).all()
    half_flat = torch.cat([attention[:1], flat[:1]])  # a slice without variance is left out of the mean
    information, _ = ami(half_flat, attention.flip(-1), everywhere, 20, rng)
    alone, _ = ami(attention[:1], attention[:1].flip(-1), everywhere[:1], 20, rng)
    assert information.item() == pytest.approx(alone.item())


def test_gradient_is_finite_where_dropout_left_zeros() -> None:
    left, right = random_maps(8, 2, 2, 2, 5, 5)
    left[left < 0.2] = 0
    term(samples=10)(step(left.requires_grad_(), right, [[1] * 5] * 2)).backward()
    assert torch.isfinite(left.grad).all()
    assert left.grad.abs().sum() > 0
    assert term(samples=10)(step(right, left, [[1] * 5] * 2)).isfinite()


def test_maps_of_half_precision_are_compared_in_float32() -> None:
    left, right = (maps.bfloat16() for maps in random_maps(10))
    mask = [[1] * 4] * 2
    expected = term(samples=20)(step(left.float(), right.float(), mask))
    assert term(samples=20)(step(left, right, mask)) == expected


def test_views_may_be_swapped_and_dropout_rescaling_cancels() -> None:
    left, right = random_maps(9)
    mask = [[1] * 4] * 2
    once = term(samples=20)(step(left, right, mask)).item()
    assert term(samples=20)(step(right, left, mask)).item() == pytest.approx(once)
    assert term(samples=20)(step(left / 0.9, right / 0.7, mask)).item() == pytest.approx(once)


def with_ids(inputs: LossInputs, right: list[list[int]], same: list[bool] | None = None) -> LossInputs:
    left, other = inputs.views
    views = [left, replace(other, ids=torch.tensor(right))]
    return replace(inputs, views=views, same=None if same is None else torch.tensor(same))


@pytest.mark.parametrize("valid", ["positive", "square"])
def test_positions_of_changed_tokens_do_not_count(valid: str) -> None:
    left, right = random_maps(11)
    mask, hidden = [[1] * 4] * 2, [[1, 1, 7, 1], [1, 1, 1, 1]]
    once = term(valid=valid, samples=9)(with_ids(step(left, right, mask), hidden)).item()
    for attentions in (left, right):
        attentions[0, :, :, 2] = 0.3  # queries and keys of the span
        attentions[0, :, :, :, 2] = 0.6
    assert term(valid=valid, samples=9)(with_ids(step(left, right, mask), hidden)).item() == pytest.approx(once)
    right[0, :, :, 1] *= torch.rand(4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert term(valid=valid, samples=9)(with_ids(step(left, right, mask), hidden)).item() != pytest.approx(once)


def test_rows_of_different_sentences_do_not_count() -> None:
    left, right = random_maps(12)
    mask = [[1] * 4] * 2
    only = term(samples=20)(with_ids(step(left, right, mask), mask, [True, False])).item()
    assert only == pytest.approx(term(samples=20)(step(left[:1], right[:1], mask[:1])).item())
    assert only != pytest.approx(term(samples=20)(step(left, right, mask)).item())


def test_views_that_share_no_token_have_nothing_to_compare() -> None:
    left, right = random_maps(13)
    assert term()(with_ids(step(left, right, [[1] * 4] * 2), [[5] * 4] * 2)).item() == 0


@pytest.mark.parametrize(
    ("depth", "layers"), [(12, (7, 8, 9, 10)), (24, tuple(range(14, 22))), (6, (3, 4)), (4, (1, 2)), (3, (0, 1))]
)
def test_upper_layers_scale_with_depth(depth: int, layers: tuple[int, ...]) -> None:
    assert upper_layers(depth) == layers
