"""Common directions taken out: the card's numbers, power iteration in loops, what is orthogonal, saving, refusals."""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from cseb.commands.train import train as train_encoder
from cseb.embedders.folders import saved_encoder
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts.postprocessing import RemoveComponents, main_directions
from cseb.training.build import build, check
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
WEIGHTED = [[-0.000553267772, 0.001860288283], [0.006622516556, 0.001986754967], [0.00255329638, 0.004575769197]]
REMOVED = [[-0.001001267811, 0.001575589806], [0.001005744418, -0.001582634172], [-0.001336836038, 0.002103638219]]


def shape(width: int) -> Shape:
    return Shape(width=width, layers=1, heads=1, mask_token=True, pooled=False, dropout=0.1)


def fitted(vectors: torch.Tensor, count: int | str, centre: bool) -> RemoveComponents:
    part = RemoveComponents(count, centre, shape=shape(vectors.shape[1])).double()  # type: ignore[arg-type]
    part.fit(vectors)
    return part


def test_it_gives_the_numbers_of_sif() -> None:
    """Weighted means of a table of five tokens, their first direction 0.843996, 0.536349 up to its sign."""
    vectors = torch.tensor(WEIGHTED, dtype=torch.float64)
    part = fitted(vectors, 1, False)
    assert part.directions.abs().flatten().tolist() == pytest.approx([0.843996208996, 0.536349139274], abs=1e-8)
    assert torch.allclose(part(vectors), torch.tensor(REMOVED, dtype=torch.float64), rtol=0, atol=1e-9)


def by_hand(rows: list[list[float]], count: int, centre: bool) -> list[list[float]]:
    """Each direction by power iteration on what the ones before have left."""
    width = len(rows[0])
    if centre:
        mean = [sum(column) / len(rows) for column in zip(*rows, strict=True)]
        rows = [[one - m for one, m in zip(row, mean, strict=True)] for row in rows]
    for _ in range(count):
        direction = [1.0] * width
        for _ in range(300):
            along = [sum(a * b for a, b in zip(row, direction, strict=True)) for row in rows]
            direction = [sum(a * row[at] for a, row in zip(along, rows, strict=True)) for at in range(width)]
            length = math.sqrt(sum(one * one for one in direction))
            direction = [one / length for one in direction]
        along = [sum(a * b for a, b in zip(row, direction, strict=True)) for row in rows]
        rows = [
            [one - a * d for one, d in zip(row, direction, strict=True)] for a, row in zip(along, rows, strict=True)
        ]
    return rows


@pytest.mark.parametrize(("count", "centre"), [(1, False), (2, False), (2, True)])
def test_it_equals_loops_and_leaves_nothing_along_what_it_took_out(count: int, centre: bool) -> None:
    spread = torch.tensor([3.0, 1.5, 0.7, 0.2], dtype=torch.float64)
    vectors = torch.randn(9, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64) * spread + 2
    found = fitted(vectors, count, centre)(vectors)
    assert torch.allclose(found, torch.tensor(by_hand(vectors.tolist(), count, centre), dtype=torch.float64), atol=1e-9)
    _, directions = main_directions(vectors, count, centre)
    assert (found @ directions).abs().max() < 1e-12
    assert directions.shape == (4, count)


def test_a_hundredth_is_one_direction_at_least() -> None:
    assert [RemoveComponents("hundredth", True, shape=shape(width)).count for width in (16, 100, 384, 768)] == [
        1,
        1,
        3,
        7,
    ]
    post = parse_method("mean+all_but_the_top").at(1.0).post
    assert post is not None
    assert (post.name, dict(post.options)) == ("remove_components", {"count": "hundredth", "centre": True})


@pytest.mark.parametrize(
    ("text", "sentences", "message"),
    [
        ("mean+remove_components(count=16)", 64, "count is 16, of the encoder's 16 directions; take fewer"),
        ("mean+remove_components(count=2,centre=true)", 3, "count is 2, and 3 sentences span 2 at most"),
        ("mean+remove_components(count=0)", 64, "count is 0"),
        ("compcse+compose(first=none)+mlm", 64, "mlm reads the tokens of a view, and a composed view has none"),
    ],
)
def test_what_cannot_be_is_one_line(tiny: Tiny, text: str, sentences: int, message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        check(parse_method(text).at(1.0), tiny("bert"), sentences=sentences)


def test_an_encoder_gives_such_vectors_and_is_saved_with_them(tiny: Tiny, tmp_path: Path) -> None:
    plain = build(parse_method("mean").at(1.0), tiny("bert"), 0).encoder.embed(SENTENCES)
    found = train_encoder("mean+remove_components", SENTENCES, encoder=str(tiny("bert")), linear="blas")
    left, _, right = np.linalg.svd(plain, full_matrices=False)
    assert left.shape[0] == len(SENTENCES)
    assert np.allclose(found.encode(SENTENCES), plain - plain @ np.outer(right[0], right[0]), atol=1e-5)
    again = saved_encoder(found.save(tmp_path / "model"))
    assert np.allclose(again.embed(SENTENCES[:4]), found.encode(SENTENCES[:4]), atol=1e-6)
