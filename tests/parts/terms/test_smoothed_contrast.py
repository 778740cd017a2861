"""Smoothed contrast: attention over neighbours and a memory, written out in loops."""

import math

import pytest
import torch
import torch.nn.functional as F

from cseb.parts.terms.infonce import info_nce
from cseb.parts.terms.memory_contrast import smoothed
from tests.parts.terms.two_views import random, smooth, step


def test_smoothing_is_attention_over_the_neighbours_and_oneself() -> None:
    queries, _ = random(2)
    neighbours = torch.randn(2, 3, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    allowed = torch.tensor([[True, True, False], [True, True, True]])
    result = smoothed(queries, neighbours, allowed, 2.0)
    for i in range(2):
        group = [queries[i], *(neighbours[i, j] for j in range(3) if allowed[i, j])]
        weights = [math.exp((queries[i] @ value).item() / 2) for value in group]
        expected = sum(weight * value for weight, value in zip(weights, group, strict=True)) / sum(weights)
        assert torch.allclose(result[i], expected)
    assert torch.autograd.gradcheck(lambda q: smoothed(q, neighbours, allowed, 2.0), (queries,))


def test_smooth_waits_until_its_memory_is_full_and_holds_no_more() -> None:
    term = smooth(size=5)
    left, right = random(2)
    assert term(step(left, right, sids=[0, 1])).item() == 0
    assert term(step(left, right, sids=[2, 3])).item() == 0
    assert term(step(left, right, sids=[4, 5])).item() > 0
    assert term.keys.shape == (5, 4)
    assert not term.keys.requires_grad
    assert term.sids.tolist() == [4, 5, 2, 3, 0]
    term.setup(None)
    assert term.keys is None


@pytest.mark.parametrize("neighbours", [2, 5])  # 5: also those at an obtuse angle; one sentence has only 4 others
@pytest.mark.parametrize("exclude_same", [False, True])
def test_smooth_equals_the_steps_written_out(exclude_same: bool, neighbours: int) -> None:
    """Released: the nearest of all is skipped. Otherwise: whatever is the same sentence is."""
    term = smooth(size=6, neighbours=neighbours, exclude_same=exclude_same)
    earlier, now = random(3, seed=1), random(3, seed=2)
    term(step(*earlier, sids=[7, 1, 2]))
    loss = term(step(*now, sids=[7, 8, 9]))
    queries = F.normalize(now[1], dim=-1)
    entries = [(sid, z) for z, sid in zip(F.normalize(earlier[1], dim=-1), [7, 1, 2], strict=True)]
    entries += [(sid, z) for z, sid in zip(queries, [7, 8, 9], strict=True)]
    rows = []
    for query, own in zip(queries, [7, 8, 9], strict=True):
        ranked = sorted(entries, key=lambda x: -(query @ x[1]).item())
        kept = [z for sid, z in ranked if sid != own] if exclude_same else [z for _, z in ranked][1:]
        kept = kept[:neighbours]
        group = torch.stack([query, *kept])
        rows.append((group @ query / 2).softmax(dim=0) @ group)
    assert loss.item() == pytest.approx(info_nce(now[0], torch.stack(rows), 0.5).item())


def test_smooth_lets_gradients_through_the_query_and_not_through_its_memory() -> None:
    term = smooth(size=4, neighbours=2)
    earlier, now = random(2, seed=1), random(2, seed=2)
    term(step(*earlier, sids=[0, 1]))
    term(step(*now, sids=[2, 3])).backward()
    assert earlier[1].grad is None
    assert all((side.grad.abs().sum(dim=1) > 0).all() for side in now)


def test_held_out_sentences_are_not_stored() -> None:
    term = smooth(size=4)
    term(step(*random(4), sids=[0, 1, 2, 3]))
    with torch.no_grad():
        assert term(step(*random(2, seed=1), sids=[0, 1])).item() > 0
    assert term.sids.tolist() == [0, 1, 2, 3]
    assert term.keys.equal(F.normalize(random(4)[1], dim=-1))
