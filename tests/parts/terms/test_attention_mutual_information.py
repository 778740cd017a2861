"""AMI: hand-worked numbers, the algorithm in loops, and the edges the release treats in its own way."""

import math
from dataclasses import replace

import pytest
import torch

from cseb.encoder.interface import EncodedView, Shape
from cseb.errors import BadSpec
from cseb.parts import LossInputs
from cseb.parts.terms.attention_mutual_information import (
    AMI,
    ami,
    head_pairs,
    layer_stride,
    mutual_information,
    upper_layers,
)
from cseb.parts.terms.infonce import info_nce

# One sentence, 2 layers, 2 heads, 2 real tokens; axes (layer, head, query, key)
VIEW1 = [
    [[[0.7, 0.3], [0.4, 0.6]], [[0.55, 0.45], [0.2, 0.8]]],
    [[[0.5, 0.5], [0.1, 0.9]], [[0.65, 0.35], [0.25, 0.75]]],
]
VIEW2 = [
    [[[0.6, 0.4], [0.45, 0.55]], [[0.5, 0.5], [0.3, 0.7]]],
    [[[0.4, 0.6], [0.2, 0.8]], [[0.75, 0.25], [0.3, 0.7]]],
]
# The rows that a padding query adds, per layer and head: it attends to the two real tokens
PADDING1 = [[[0.35, 0.65], [0.9, 0.1]], [[0.6, 0.4], [0.8, 0.2]]]
PADDING2 = [[[0.45, 0.55], [0.85, 0.15]], [[0.5, 0.5], [0.7, 0.3]]]
SHAPE = Shape(width=8, layers=2, heads=2, mask_token=False, pooled=False, dropout=0.1)


def maps(rows: list, padding: list | None = None) -> torch.Tensor:
    """(1, layers, heads, T, T)."""
    told = torch.tensor(rows, dtype=torch.float64)[None]
    if padding is None:
        return told
    padded = torch.zeros(1, 2, 2, 3, 3, dtype=torch.float64)
    padded[..., :2, :2] = told
    padded[..., 2, :2] = torch.tensor(padding, dtype=torch.float64)
    return padded


def step(left: torch.Tensor, right: torch.Tensor, mask: list[list[int]], seed: int = 0) -> LossInputs:
    tokens = torch.tensor(mask)
    z = torch.zeros(len(left), 8, dtype=torch.float64)
    views = [
        EncodedView(z, z, tokens, tokens, tokens, attentions=tuple(told[:, layer] for layer in range(told.shape[1])))
        for told in (left, right)
    ]
    return LossInputs(views, torch.Generator().manual_seed(seed))


def term(**options: object) -> AMI:
    defaults = {
        "layers": (0, 1),
        "slicing": "layer_stride",
        "valid": "positive",
        "samples": 150,
        "scale_by_valid": False,
    }
    return AMI(**{**defaults, **options}, shape=SHAPE)  # type: ignore[arg-type]


def test_mutual_information_of_two_vectors() -> None:
    left = torch.tensor([[0.1, 0.2, 0.3, 0.4]], dtype=torch.float64)
    right = torch.tensor([[0.12, 0.18, 0.42, 0.28]], dtype=torch.float64)
    found, usable = mutual_information(left, right)
    assert found.tolist() == [pytest.approx(0.673245081, abs=1e-9)]
    assert found.item() == pytest.approx(-0.5 * math.log(1 - 0.8601443189**2), abs=1e-8)
    assert usable.tolist() == [True]


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
    told = step(left, right, [[1, 1, 0]] if padded else [[1, 1]])
    assert term(slicing=slicing, valid=valid)(told).item() == pytest.approx(-mean, abs=1e-6)
    scaled = term(slicing=slicing, valid=valid, scale_by_valid=True)(told).item()
    assert scaled == pytest.approx(-mean * (share**2 + 1e-6), abs=1e-6)


def test_released_values_with_their_factor() -> None:
    released = term(scale_by_valid=True)
    assert released(step(maps(VIEW1), maps(VIEW2), [[1, 1]])).item() == pytest.approx(-1.7132745976, abs=1e-6)
    told = step(maps(VIEW1, PADDING1), maps(VIEW2, PADDING2), [[1, 1, 0]])
    assert released(told).item() == pytest.approx(-0.6290666528, abs=1e-6)


def test_total_of_ami_and_simcse() -> None:
    left = torch.cat([maps(VIEW1), maps(VIEW1).flip(2)])  # the second sentence has the heads swapped
    right = torch.cat([maps(VIEW2), maps(VIEW2).flip(2)])
    nce = info_nce(
        torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64),
        torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64),
        0.5,
    )
    told = step(left, right, [[1, 1], [1, 1]])
    assert (nce + 1e-3 * term(scale_by_valid=True)(told)).item() == pytest.approx(0.3864355853, abs=1e-6)
    assert (nce + 1e-3 * term(slicing="head_pairs")(told)).item() == pytest.approx(0.3868345573, abs=1e-6)


def test_sampled_ami_equals_the_same_draw_in_loops() -> None:
    rng = torch.Generator().manual_seed(3)
    left, right = (torch.rand(3, 4, 20, generator=rng, dtype=torch.float64) for _ in range(2))
    valid = torch.rand(3, 4, 20, generator=rng) > 0.2
    found, share = ami(left, right, valid, 12, torch.Generator().manual_seed(7))
    keys = torch.rand((12, 20), generator=torch.Generator().manual_seed(7))
    values, kept = [], []
    for row in range(12):
        a, b, ok = left.flatten(0, 1)[row], right.flatten(0, 1)[row], valid.flatten(0, 1)[row]
        if ok.sum() < 12:
            continue
        kept.append(ok.float().mean().item())
        drawn = sorted((i for i in range(20) if ok[i]), key=lambda i: -keys[row, i].item())[:12]
        u = [math.log(a[i].item()) for i in drawn]
        v = [math.log(b[i].item()) for i in drawn]
        mu, mv = sum(u) / 12, sum(v) / 12
        top = sum((x - mu) * (y - mv) for x, y in zip(u, v, strict=True))
        rho2 = top**2 / (sum((x - mu) ** 2 for x in u) * sum((y - mv) ** 2 for y in v))
        values.append(-0.5 * math.log(1 - rho2))
    assert len(values) > 2
    assert found.item() == pytest.approx(sum(values) / len(values))
    assert share.item() == pytest.approx(sum(kept) / len(kept))


def test_poor_slices_are_left_out_while_one_is_rich() -> None:
    rng = torch.Generator().manual_seed(4)
    left, right = (torch.rand(1, 2, 10, generator=rng, dtype=torch.float64) for _ in range(2))
    valid = torch.ones(1, 2, 10, dtype=torch.bool)
    valid[0, 1, 4:] = False
    found, share = ami(left, right, valid, 10, torch.Generator().manual_seed(0))
    alone, _ = mutual_information(left[0, :1], right[0, :1])
    assert (found.item(), share.item()) == (pytest.approx(alone.item()), 1.0)


def test_the_poorest_slice_decides_when_none_is_rich() -> None:
    left = torch.rand(1, 2, 6, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    valid = torch.ones(1, 2, 6, dtype=torch.bool)
    valid[0, 1, 1:] = False
    found, _ = ami(left, left.flip(-1), valid, 150, torch.Generator())
    assert found.item() == 0  # one position has no correlation


def test_equal_maps_and_flat_maps_are_finite() -> None:
    rng = torch.Generator().manual_seed(6)
    told = torch.rand(2, 4, 20, generator=rng, dtype=torch.float64).requires_grad_()
    everywhere = torch.ones(2, 4, 20, dtype=torch.bool)
    found, _ = ami(told, told, everywhere, 10, rng)
    assert found.item() == pytest.approx(-0.5 * math.log(1e-6), abs=1e-3)
    flat = torch.full((2, 4, 20), 0.05, dtype=torch.float64, requires_grad=True)
    none, _ = ami(flat, told, everywhere, 10, rng)
    none.backward()
    assert none.item() == 0
    assert torch.isfinite(flat.grad).all()


def test_gradient_is_finite_where_dropout_left_zeros() -> None:
    rng = torch.Generator().manual_seed(8)
    left = torch.rand(2, 2, 2, 5, 5, generator=rng, dtype=torch.float64)
    left[left < 0.2] = 0
    left.requires_grad_()
    term(samples=10)(
        step(left, torch.rand(2, 2, 2, 5, 5, generator=rng, dtype=torch.float64), [[1] * 5] * 2)
    ).backward()
    assert torch.isfinite(left.grad).all()
    assert left.grad.abs().sum() > 0


def test_views_may_be_swapped_and_dropout_rescaling_cancels() -> None:
    rng = torch.Generator().manual_seed(9)
    left, right = (torch.rand(2, 2, 2, 4, 4, generator=rng, dtype=torch.float64) for _ in range(2))
    mask = [[1] * 4] * 2
    once = term(samples=20)(step(left, right, mask)).item()
    assert term(samples=20)(step(right, left, mask)).item() == pytest.approx(once)
    assert term(samples=20)(step(left / 0.9, right / 0.7, mask)).item() == pytest.approx(once)


def random_maps(seed: int) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.rand(2, 2, 2, 4, 4, generator=rng, dtype=torch.float64) for _ in range(2)]


def with_ids(told: LossInputs, right: list[list[int]], same: list[bool] | None = None) -> LossInputs:
    left, other = told.views
    views = [left, replace(other, ids=torch.tensor(right))]
    return replace(told, views=views, same=None if same is None else torch.tensor(same))


@pytest.mark.parametrize("valid", ["positive", "square"])
def test_positions_of_changed_tokens_do_not_count(valid: str) -> None:
    left, right = random_maps(11)
    mask, hidden = [[1] * 4] * 2, [[1, 1, 7, 1], [1, 1, 1, 1]]
    once = term(valid=valid, samples=9)(with_ids(step(left, right, mask), hidden)).item()
    for told in (left, right):
        told[0, :, :, 2] = 0.3  # queries and keys of the span
        told[0, :, :, :, 2] = 0.6
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


def test_gradients_are_right() -> None:
    rng = torch.Generator().manual_seed(10)
    left, right = (torch.rand(1, 2, 2, 3, 3, generator=rng, dtype=torch.float64).requires_grad_() for _ in range(2))
    assert torch.autograd.gradcheck(lambda a, b: term()(step(a, b, [[1, 1, 1]])), (left, right))


@pytest.mark.parametrize(
    ("depth", "layers"), [(12, (7, 8, 9, 10)), (24, tuple(range(14, 22))), (6, (3, 4)), (4, (1, 2)), (3, (0, 1))]
)
def test_upper_layers_scale_with_depth(depth: int, layers: tuple[int, ...]) -> None:
    assert upper_layers(depth) == layers


@pytest.mark.parametrize("layers", [(0, 2), (0, 0), ()])
def test_layers_an_encoder_lacks_are_refused(layers: object) -> None:
    with pytest.raises(BadSpec, match="ami: layers"):
        term(layers=layers)


def test_odd_numbers_cannot_be_paired() -> None:
    with pytest.raises(BadSpec, match="even number"):
        term(layers=(0,))
