"""Terms at several widths: the sum written out, what does not count, and what is refused."""

import math

import pytest
import torch

from cseb.encoder.interface import Shape
from cseb.parts import LossInputs, Queued, reads
from cseb.parts.matryoshka import Matryoshka, reads_vectors_only, truncated
from cseb.parts.terms.distillation import RankMSE, Regress
from cseb.parts.terms.infonce import InfoNCE
from tests.parts.terms.two_views import cosine, step

Z1 = [[0.9, 0.1, -0.3, 0.2], [-0.2, 0.8, 0.5, -0.1], [0.4, -0.6, 0.7, 0.3]]
Z2 = [[0.8, 0.2, -0.1, 0.4], [-0.1, 0.9, 0.2, 0.3], [0.5, -0.4, 0.9, -0.2]]
SHAPE = Shape(width=4, layers=2, heads=2, mask_token=True, pooled=False, dropout=0.1)
TERM = InfoNCE(0.05, "batch", "released")


def by_hand(width: int) -> float:
    cost = 0.0
    for i, anchor in enumerate(Z1):
        logits = [cosine(anchor[:width], other[:width]) / 0.05 for other in Z2]
        cost += math.log(sum(map(math.exp, logits))) - logits[i]
    return cost / len(Z1)


def test_it_is_the_weighted_sum_over_widths() -> None:
    result = Matryoshka((4, 2, 1), (1.0, 1.0, 0.5), shape=SHAPE)(TERM, step(Z1, Z2)).item()
    assert result == pytest.approx(by_hand(4) + by_hand(2) + 0.5 * by_hand(1), abs=1e-10)
    assert result == pytest.approx(0.232191163732, abs=1e-8)  # worked out elsewhere


def test_the_full_width_alone_is_the_term_and_widths_have_no_order() -> None:
    assert Matryoshka((4,), (), shape=SHAPE)(TERM, step(Z1, Z2)).item() == TERM(step(Z1, Z2)).item()
    orders = [Matryoshka(widths, (), shape=SHAPE)(TERM, step(Z1, Z2)).item() for widths in ((4, 2), (2, 4))]
    assert orders[0] == pytest.approx(orders[1], abs=1e-15)
    halves = Matryoshka((), (), shape=SHAPE)(TERM, step(Z1, Z2)).item()  # 4, 2 and 1; an eighth there is not
    assert halves == pytest.approx(by_hand(4) + by_hand(2) + by_hand(1), abs=1e-10)


def test_numbers_behind_a_width_do_not_count() -> None:
    changed = [[*row[:2], 5.0, -5.0] for row in Z1]
    only = Matryoshka((2,), (), shape=SHAPE)
    assert only(TERM, step(changed, Z2)).item() == only(TERM, step(Z1, Z2)).item()


def test_queue_edits_and_targets_of_the_same_numbers_are_cut_alike() -> None:
    keys = torch.randn(5, 4)
    inputs = step(
        Z1, Z2, queue=Queued(keys, torch.ones(3, 5, dtype=torch.bool)), frozen=[[keys[:3], keys[2:]]], edits=[keys[1:4]]
    )
    cut = truncated(inputs, 2, targets=True)
    assert cut.queue.keys.equal(keys[:, :2])
    assert cut.edits[0].h.equal(keys[1:4, :2]) and cut.edits[0].z.equal(keys[1:4, :2])
    assert cut.frozen[0][1].equal(keys[2:, :2])
    assert truncated(inputs, 2, targets=False).frozen is inputs.frozen
    regress = Matryoshka((2,), (), shape=SHAPE)(Regress("mse", "first"), inputs).item()
    expected = sum((Z1[i][j] - float(keys[i, j])) ** 2 for i in range(3) for j in range(2)) / 6
    assert regress == pytest.approx(expected, abs=1e-6)


def test_weights_or_targets_of_a_term_are_of_the_full_width() -> None:
    weighted = torch.nn.Linear(4, 1)
    weighted.reads = reads("z", views=2)
    assert [reads_vectors_only(term) for term in (TERM, weighted, RankMSE())] == [True, False, False]


@pytest.mark.parametrize(("made", "calls"), [(("z",), 2), (("z", "layers"), 1), (("language",), 1), ((), 1)])
def test_terms_of_more_than_vectors_are_taken_once(made: tuple[str, ...], calls: int) -> None:
    seen = []

    class Counted:
        reads = reads(*made, views=2)

        def __call__(self, inputs: LossInputs) -> torch.Tensor:
            seen.append(inputs)
            return torch.zeros(())

    Matryoshka((4, 2), (), shape=SHAPE)(Counted(), step(Z1, Z2))
    assert len(seen) == calls
