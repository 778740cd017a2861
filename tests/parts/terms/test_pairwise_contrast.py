"""Two-sided and logistic contrast: numbers worked out by hand, the equations in loops, and their invariances."""

import math

import pytest
import torch

from cseb.encoder.interface import EncodedView
from cseb.errors import BadSpec
from cseb.parts import LossInputs
from cseb.parts.terms.contrast_in_batch import BCEPairs, NTXent, bce_pairs, nt_xent
from tests.conftest import check_options

Z1 = torch.tensor([[1.0, 0.0], [0.0, 2.0]], dtype=torch.float64)
Z2 = torch.tensor([[3.0, 4.0], [0.0, 1.0]], dtype=torch.float64)
LEFT = torch.tensor([[1.0, 0.0], [0.5, 1.0], [2.0, -1.0]], dtype=torch.float64)
RIGHT = torch.tensor([[1.0, 1.0], [1.0, -1.0], [0.5, 0.5]], dtype=torch.float64)
SAME = torch.tensor([True, False, False])


def step(left: torch.Tensor, right: torch.Tensor, same: torch.Tensor | None = None) -> LossInputs:
    none = torch.zeros(len(left), 1, dtype=torch.long)
    return LossInputs([EncodedView(z, z, none, none, none) for z in (left, right)], torch.Generator(), same=same)


def random(rows: int, seed: int = 0) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(rows, 4, generator=rng, dtype=torch.float64).requires_grad_() for _ in range(2)]


def test_nt_xent_of_two_sentences() -> None:
    assert NTXent(temperature=0.5)(step(Z1, Z2)).item() == pytest.approx(0.758885198, abs=1e-9)


def test_nt_xent_equals_the_sum_written_out() -> None:
    left, right = random(3)
    both = torch.cat([left, right])

    def d(i: int, k: int) -> float:
        return math.exp(torch.cosine_similarity(both[i], both[k], dim=0).item() / 0.2)

    rows = [-math.log(d(i, (i + 3) % 6) / sum(d(i, k) for k in range(6) if k != i)) for i in range(6)]
    assert nt_xent(left, right, 0.2).item() == pytest.approx(sum(rows) / 6)


def test_nt_xent_is_symmetric_and_blind_to_length_and_order() -> None:
    left, right = random(5)
    order = torch.tensor([3, 0, 4, 1, 2])
    once = nt_xent(left, right, 0.04)
    assert torch.allclose(once, nt_xent(right, left, 0.04))
    assert torch.allclose(once, nt_xent(3 * left, 0.2 * right, 0.04))
    assert torch.allclose(once, nt_xent(left[order], right[order], 0.04))


def test_nt_xent_at_its_limits() -> None:
    left, right = random(5)
    assert nt_xent(left[:1], right[:1], 0.04).item() == 0  # one sentence has nobody to be told from
    assert nt_xent(left, right, 1e9).item() == pytest.approx(math.log(9))
    equal = torch.ones(5, 4, dtype=torch.float64)
    assert nt_xent(equal, equal, 0.04).item() == pytest.approx(math.log(9))
    eye = torch.eye(5, dtype=torch.float64)
    assert nt_xent(eye, eye, 0.5).item() == pytest.approx(math.log(1 + 8 * math.exp(-2)))


@pytest.mark.parametrize(("reduction", "loss"), [("mean", 0.587138552), ("sum", 1.7614156559)])
def test_bce_of_one_positive_and_two_negatives(reduction: str, loss: float) -> None:
    assert (LEFT * RIGHT).sum(dim=-1).tolist() == [1.0, -0.5, 0.5]
    assert BCEPairs(reduction=reduction)(step(LEFT, RIGHT, SAME)).item() == pytest.approx(loss, abs=1e-9)


def test_bce_equals_the_sum_written_out() -> None:
    left, right = random(3)
    total = 0.0
    for i, same in enumerate(SAME.tolist()):
        chance = 1 / (1 + math.exp(-sum(a * b for a, b in zip(left[i].tolist(), right[i].tolist(), strict=True))))
        total -= math.log(chance if same else 1 - chance)
    assert bce_pairs(left, right, SAME, "mean").item() == pytest.approx(total / 3)


def test_bce_does_not_mind_sides_order_or_great_lengths() -> None:
    left, right = random(3)
    order = torch.tensor([2, 0, 1])
    once = bce_pairs(left, right, SAME, "mean")
    assert torch.allclose(once, bce_pairs(right, left, SAME, "mean"))
    assert torch.allclose(once, bce_pairs(left[order], right[order], SAME[order], "mean"))
    assert not torch.allclose(once, bce_pairs(2 * left, right, SAME, "mean"))  # lengths count
    long = torch.full((2, 4), 90.0)
    assert bce_pairs(long, long, torch.tensor([True, False]), "mean").item() == pytest.approx(4 * 8100 / 2)
    assert bce_pairs(long.half(), long.half(), torch.tensor([True, True]), "mean").item() == 0


def test_equal_pairs_alone_start_below_chance() -> None:
    left, _ = random(4)
    assert BCEPairs(reduction="mean")(step(left, left)).item() < math.log(2)


def test_gradients_are_right_and_reach_both_sides() -> None:
    left, right = random(3)
    same = SAME
    assert torch.autograd.gradcheck(lambda a, b: NTXent(temperature=0.5)(step(a, b)), (left, right))
    assert torch.autograd.gradcheck(lambda a, b: BCEPairs(reduction="sum")(step(a, b, same)), (left, right))
    BCEPairs(reduction="mean")(step(left, right, same)).backward()
    assert left.grad is not None
    assert right.grad is not None
    assert (left.grad.abs().sum(dim=1) > 0).all()
    assert (right.grad.abs().sum(dim=1) > 0).all()


def test_options_that_cannot_be_are_refused() -> None:
    with pytest.raises(BadSpec, match="nt_xent: temperature"):
        check_options("nt_xent", temperature=0)
    with pytest.raises(BadSpec, match="bce_pairs: reduction"):
        check_options("bce_pairs", reduction="median")
