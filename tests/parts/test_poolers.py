"""Poolers against hand-worked numbers: two real tokens and one of padding; states[0] are the embeddings."""

import pytest
import torch

from cseb.encoder.interface import Shape, States
from cseb.errors import BadSpec
from cseb.parts.poolers import CLS, CLSPooler, CNNMean, FirstLast, Last2, MaskPrompt, Mean, MeanLast, PaddedMean
from tests.conftest import check_options

LAYERS = [
    torch.tensor([[a, b, [9.0, 9.0]]])
    for a, b in (
        ([1.0, 2.0], [3.0, 4.0]),
        ([2.0, 0.0], [0.0, 2.0]),
        ([1.0, 1.0], [5.0, 3.0]),
        ([4.0, 0.0], [2.0, 6.0]),
    )
]
SHAPE = Shape(width=2, layers=3, heads=1, mask_token=True, pooled=False, dropout=0.1)
STATES = States(LAYERS, torch.tensor([[1, 1, 0]]), torch.tensor([1]))


@pytest.mark.parametrize(
    ("pooler", "expected"),
    [
        (CLS(), [4.0, 0.0]),
        (Mean(), [3.0, 3.0]),
        (Last2(), [3.0, 2.5]),
        (FirstLast(first=1), [2.0, 2.0]),
        (FirstLast(first=0), [2.5, 3.0]),
        (MaskPrompt(template="[X] means [MASK].", shape=SHAPE), [2.0, 6.0]),
        (MeanLast(training=1, test=2, shape=SHAPE).train(), [3.0, 3.0]),
        (MeanLast(training=1, test=2, shape=SHAPE).eval(), [3.0, 2.5]),
    ],
)
def test_pooler_gives_the_number_worked_out_by_hand(pooler: torch.nn.Module, expected: list[float]) -> None:
    assert pooler(STATES).tolist() == [expected]


@pytest.mark.parametrize("pooler", [CLS(), Mean(), Last2(), FirstLast(first=1), FirstLast(first=0)])
def test_padding_never_matters(pooler: torch.nn.Module) -> None:
    other = [layer.clone() for layer in LAYERS]
    for layer in other:
        layer[:, 2] = -7.0
    assert torch.equal(pooler(STATES), pooler(States(other, STATES.mask, STATES.anchor)))


@pytest.mark.parametrize("template", ["[X] means", "means [MASK]", "[X] [X] [MASK]", 3])
def test_a_prompt_without_its_two_places_is_refused(template: str) -> None:
    with pytest.raises(BadSpec, match="template"):
        MaskPrompt(template=template, shape=SHAPE)


def test_parts_that_an_encoder_cannot_serve_are_refused() -> None:
    with pytest.raises(BadSpec, match="no pre-trained pooler"):
        CLSPooler(shape=SHAPE)
    with pytest.raises(BadSpec, match="no mask token"):
        MaskPrompt(template="[X] [MASK]", shape=Shape(2, 3, 1, mask_token=False, pooled=False, dropout=0.1))
    with pytest.raises(BadSpec, match="first"):
        check_options("first_last", first=2)


def test_padded_mean_counts_padding_up_to_its_length() -> None:
    pooler = PaddedMean(training=3, test=2)
    assert pooler(STATES).tolist() == [[5.0, 5.0]]  # (4 + 2 + 9) / 3, (0 + 6 + 9) / 3
    assert pooler.eval()(STATES).tolist() == [[3.0, 3.0]]
    assert pooler.pad_to == 2
    longer = States(LAYERS, torch.tensor([[1, 1, 1]]), torch.tensor([0]))
    assert pooler(longer).tolist() == [[5.0, 5.0]]  # real tokens beyond its length count as well


def test_padded_mean_needs_lengths() -> None:
    with pytest.raises(BadSpec, match="padded_mean: test"):
        check_options("padded_mean", test=0)


def test_more_layers_than_there_are_have_no_mean() -> None:
    with pytest.raises(BadSpec, match="mean_last: 4 layers of 3"):
        MeanLast(training=1, test=4, shape=SHAPE)


def test_convolutions_see_their_neighbours_and_no_padding() -> None:
    shape = Shape(width=4, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)
    pooler = CNNMean(widths=(1, 3), shape=shape).double()
    states = torch.randn(2, 5, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])
    expected = torch.zeros(2, 4, dtype=torch.float64)
    for row, length in enumerate((3, 5)):
        for t in range(length):
            parts = []
            for convolution, width in zip(pooler.convolutions, (1, 3), strict=True):
                total = convolution.bias.clone()
                for k in range(width):
                    if 0 <= (at := t + k - width // 2) < length:
                        total = total + convolution.weight[:, :, k] @ states[row, at]
                parts.append(total)
            expected[row] += torch.cat(parts) / length
    found = pooler(States((states,), mask, torch.zeros(2)))
    assert torch.allclose(found, expected)
    alone = pooler(States((states[:1, :3],), mask[:1, :3], torch.zeros(1)))
    assert torch.allclose(alone, found[:1])
    with pytest.raises(BadSpec, match="3 convolutions cannot divide a width of 4"):
        CNNMean(widths=(1, 3, 5), shape=shape)
    with pytest.raises(BadSpec, match="widths is 2; allowed: 1, 3, 5, 7, 9"):
        check_options("cnn_mean", widths=(1, 2))
