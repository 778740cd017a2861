"""RCL's terms: check numbers from the equations, the equations in loops, and their edges."""

import math

import pytest
import torch

from cseb.parts.terms.entropy_regularisation import Entropy, Regulators, entropy, regulation
from cseb.parts.terms.infonce import InfoNCE, info_nce
from tests.parts.terms.two_views import doubles as t
from tests.parts.terms.two_views import step

QUERY, INDEX = t([[1, 0], [0, 2], [1, 1]]), t([[3, 4], [0, 1], [4, 3]])
HARD = t([[0, 1], [1, 1], [-1, 0.5]])
AU_QUERY = t([[[1, 0.2], [0.1, 1], [1, 0.8]], [[0.9, -0.1], [-0.2, 1], [0.7, 1]]])
AU_INDEX = t([[[3, 5], [0.3, 1], [4, 2]], [[2, 4], [-0.1, 1], [5, 3]]])
FROZEN = list(zip(AU_QUERY, AU_INDEX, strict=True))


@pytest.mark.parametrize(
    ("temperature", "cross", "others", "every"),
    [(1.0, 0.9812497366, 0.7077756212, 1.075118458), (0.05, 1.5771739141, 0.1502117693, 0.2959626344)],
)
def test_entropy_of_three_pairs(temperature: float, cross: float, others: float, every: float) -> None:
    assert info_nce(QUERY, INDEX, temperature).item() == pytest.approx(cross, abs=1e-6)
    assert entropy(QUERY, INDEX, temperature, all_columns=False).item() == pytest.approx(others, abs=1e-6)
    assert entropy(QUERY, INDEX, temperature, all_columns=True).item() == pytest.approx(every, abs=1e-6)


@pytest.mark.parametrize(
    ("temperature", "first", "with_hard", "query", "index", "totals"),
    [
        (1.0, 0.9812497366, 1.5584053998, [0.8467283367, 0.7698385374], [0.995954634, 0.9513086107],
         [2.8239327074, 4.5450798554, 5.1222355186]),
        (0.05, 1.5771739141, 2.0123026442, [0.0230547347, 0.0133540004], [0.2665757497, 0.1770062828],
         [1.8668043986, 2.0571646818, 2.4922934118]),
    ],
)  # fmt: skip
def test_final_loss(
    temperature: float, first: float, with_hard: float, query: list[float], index: list[float], totals: list[float]
) -> None:
    contrast = InfoNCE(temperature=temperature, negatives="batch", form="released")
    term = Regulators(temperature=temperature, average=False)
    assert contrast(step(QUERY, INDEX)).item() == pytest.approx(first, abs=1e-6)
    assert contrast(step(QUERY, INDEX, HARD)).item() == pytest.approx(with_hard, abs=1e-6)
    for number in range(2):
        assert info_nce(QUERY, AU_QUERY[number], temperature).item() == pytest.approx(query[number], abs=1e-6)
        assert info_nce(INDEX, AU_INDEX[number], temperature).item() == pytest.approx(index[number], abs=1e-6)
    loss = [
        (contrast(made) + term(made)).item()
        for made in (
            step(QUERY, INDEX, frozen=FROZEN[:1]),
            step(QUERY, INDEX, frozen=FROZEN),
            step(QUERY, INDEX, HARD, frozen=FROZEN),
        )
    ]
    assert loss == pytest.approx(totals, abs=1e-6)
    average = Regulators(temperature=temperature, average=True)(step(QUERY, INDEX, frozen=FROZEN))
    assert average.item() == pytest.approx((sum(query) + sum(index)) / 2, abs=1e-6)


def blocks(count: int, batch: int = 4) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(5)
    return [torch.randn(batch, 6, generator=rng, dtype=torch.float64) for _ in range(count)]


@pytest.mark.parametrize("all_columns", [True, False])
@pytest.mark.parametrize("hard", [True, False])
def test_entropy_written_out(all_columns: bool, hard: bool) -> None:
    q, d, n = blocks(3)
    columns = torch.cat([d, n]) if hard else d
    total = 0.0
    for i in range(4):
        powers = [math.exp(torch.cosine_similarity(q[i], row, dim=0).item() / 0.2) for row in columns]
        shares = [power / sum(powers) for power in powers]
        total -= sum(share * math.log(share) for j, share in enumerate(shares) if all_columns or j != i)
    loss = Entropy(temperature=0.2, all_columns=all_columns)(step(q, d, *([n] if hard else [])))
    assert loss.item() == pytest.approx(total / 4)


def test_regulation_written_out() -> None:
    q, d, *frozen = blocks(6)
    total = 0.0
    for anchors, constants in ((q, frozen[0]), (d, frozen[1]), (q, frozen[2]), (d, frozen[3])):
        for i in range(4):
            powers = [math.exp(torch.cosine_similarity(anchors[i], row, dim=0).item() / 0.2) for row in constants]
            total += math.log(sum(powers) / powers[i]) / 4
    assert regulation((q, d), [frozen[:2], frozen[2:]], 0.2).item() == pytest.approx(total)


def test_edges() -> None:
    q, d = blocks(2, batch=1)
    assert entropy(q, d, 0.05, all_columns=True).item() == 0  # one pair is certain
    assert entropy(q, d, 0.05, all_columns=False).item() == 0
    equal = q.expand(4, 6)
    assert entropy(equal, equal, 0.05, all_columns=True).item() == pytest.approx(math.log(4))
    assert entropy(equal, equal, 0.05, all_columns=False).item() == pytest.approx(math.log(4) * 3 / 4)
    sure = torch.eye(4, dtype=torch.float64, requires_grad=True)
    value = entropy(sure, torch.eye(4, dtype=torch.float64), 1e-4, all_columns=True)  # p underflows to 0
    value.backward()
    assert value.item() == 0
    assert torch.isfinite(sure.grad).all()
