"""RankCSE's consistency: the paper's equation in loops, and the released form with its clamps."""

import math

import pytest
import torch

from cseb.parts.terms.contrast_in_batch import JSConsistency, NegEntropy
from tests.parts.terms.two_views import cosine, random, step

FLOOR = 1e-7


def test_js_equals_the_sum_written_out() -> None:
    left, right = random(3)
    logits = [[cosine(a, b) / 0.05 for b in right] for a in left]
    total = 0.0
    for i in range(3):
        p = [math.exp(logits[i][j]) / sum(map(math.exp, logits[i])) for j in range(3)]
        column = [math.exp(logits[j][i]) for j in range(3)]
        q = [value / sum(column) for value in column]
        total += sum(x * math.log(2 * x / (x + y)) + y * math.log(2 * y / (x + y)) for x, y in zip(p, q, strict=True))
    assert JSConsistency(temperature=0.05)(step(left, right)).item() == pytest.approx(total / 6)


def test_js_lies_between_0_and_log_2_and_entropy_is_no_consistency() -> None:
    left, right = random(5)
    js, entropy = JSConsistency(temperature=0.05), NegEntropy(temperature=0.05)
    assert js(step(left, left)).item() == pytest.approx(0, abs=1e-12)
    assert 0 < js(step(left, right)).item() < math.log(2)
    assert entropy(step(left, left)).item() < -1e-3  # not 0 where the views agree
    flat = torch.ones(5, 4, dtype=torch.float64)
    assert entropy(step(flat, flat)).item() == pytest.approx(-math.log(5))


def vectors(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    rng = torch.Generator().manual_seed(3)
    left = torch.randn(size, 6, generator=rng, dtype=torch.float64)
    return left, left + 0.1 * torch.randn(size, 6, generator=rng, dtype=torch.float64)


def released(left: torch.Tensor, right: torch.Tensor, temperature: float) -> float:
    """Half of KL(p | m) + KL(q | m) of p and q of at least 1e-7, where log m is clamped from below, to 1e-7 always."""

    def rows(one: torch.Tensor, other: torch.Tensor) -> list[list[float]]:
        table = []
        for x in one:
            weights = [math.exp(torch.cosine_similarity(x, y, dim=0).item() / temperature) for y in other]
            table.append([max(weight / sum(weights), FLOOR) for weight in weights])
        return table

    total = 0.0
    p, q = rows(left, right), rows(right, left)
    for i in range(len(left)):
        for j in range(len(left)):
            middle = max(math.log((p[i][j] + q[i][j]) / 2), FLOOR)
            total += sum(one[i][j] * (math.log(one[i][j]) - middle) for one in (p, q)) / 2
    return total / len(left)


@pytest.mark.parametrize("temperature", [0.5, 0.05, 0.02])
def test_it_is_what_the_re_implementation_computes(temperature: float) -> None:
    left, right = vectors(8)
    assert NegEntropy(temperature).loss(left, right).item() == pytest.approx(
        released(left, right, temperature), abs=3e-7
    )


def test_probabilities_below_the_floor_count_as_the_floor_and_are_not_pushed() -> None:
    left = torch.eye(4, dtype=torch.float64, requires_grad=True)
    found = NegEntropy(0.02).loss(left, torch.eye(4, dtype=torch.float64))  # e^-50 elsewhere
    assert found.item() == pytest.approx(3 * FLOOR * math.log(FLOOR), rel=1e-6)
    found.backward()
    assert left.grad is not None
    assert left.grad.abs().max() < 1e-12


def test_the_term_of_the_paper_has_no_floor() -> None:
    left = torch.eye(4, dtype=torch.float64)
    assert 0 <= JSConsistency(0.02).loss(left, left).item() < 1e-15
