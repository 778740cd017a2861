"""Contrasts within a batch: the equations in loops, and what no gradient passes."""

import math

import pytest
import torch
import torch.nn.functional as F

from cseb.parts.terms.contrast_in_batch import (
    BCEPairs,
    JSConsistency,
    MixedInfoNCE,
    NegEntropy,
    NTXent,
    bce_pairs,
    mix_neighbours,
)
from cseb.parts.terms.infonce import cosines
from tests.parts.terms.two_views import cosine, random, step

SAME = torch.tensor([True, False, False])


def test_nt_xent_equals_the_sum_written_out() -> None:
    left, right = random(3)
    both = torch.cat([left, right])

    def d(i: int, k: int) -> float:
        return math.exp(torch.cosine_similarity(both[i], both[k], dim=0).item() / 0.2)

    rows = [-math.log(d(i, (i + 3) % 6) / sum(d(i, k) for k in range(6) if k != i)) for i in range(6)]
    assert NTXent(temperature=0.2)(step(left, right)).item() == pytest.approx(sum(rows) / 6)


def test_bce_equals_the_sum_written_out() -> None:
    left, right = random(3)
    total = 0.0
    for i, same in enumerate(SAME.tolist()):
        chance = 1 / (1 + math.exp(-sum(a * b for a, b in zip(left[i].tolist(), right[i].tolist(), strict=True))))
        total -= math.log(chance if same else 1 - chance)
    for reduction, expected in (("mean", total / 3), ("sum", total)):
        assert BCEPairs(reduction=reduction)(step(left, right, same=SAME)).item() == pytest.approx(expected)


def test_bce_of_long_vectors_is_finite_and_lengths_count() -> None:
    left, right = random(3)
    assert not torch.allclose(bce_pairs(left, right, SAME, "mean"), bce_pairs(2 * left, right, SAME, "mean"))
    long = torch.full((2, 4), 90.0)
    assert bce_pairs(long, long, torch.tensor([True, False]), "mean").item() == pytest.approx(4 * 8100 / 2)
    assert bce_pairs(long.half(), long.half(), torch.tensor([True, True]), "mean").item() == 0


def test_released_mixtures_equal_the_sum_written_out() -> None:
    left, right = random(3)
    m1, m2 = ([0.2 * z[i] + 0.8 * z[(i + 1) % 3] for i in range(3)] for z in (left, right))
    total = 0.0
    for i in range(3):
        columns = [cosine(left[i], right[j]) for j in range(3)]
        columns += [0.0 if j == (i - 1) % 3 else cosine(left[i], m2[j]) for j in range(3)]
        columns += [0.0 if j == (i + 1) % 3 else cosine(m1[i], right[j]) for j in range(3)]
        total -= math.log(math.exp(columns[i] / 0.05) / sum(math.exp(value / 0.05) for value in columns))
    loss = MixedInfoNCE(temperature=0.05, mix=0.2, form="released")(step(left, right))
    assert loss.item() == pytest.approx(total / 3)


def test_the_papers_mixture_is_one_more_candidate() -> None:
    left, right = random(3)
    unit = F.normalize(right, dim=-1)
    total = 0.0
    for i in range(3):
        columns = [cosine(left[i], right[j]) for j in range(3)]
        columns.append(cosine(left[i], 0.2 * unit[i] + 0.8 * unit[(i + 1) % 3]))
        total -= math.log(math.exp(columns[i] / 0.05) / sum(math.exp(value / 0.05) for value in columns))
    loss = MixedInfoNCE(temperature=0.05, mix=0.2, form="paper")(step(left, right))
    assert loss.item() == pytest.approx(total / 3)


def test_no_gradient_flows_into_a_mixture() -> None:
    left, right = random(3)
    result = torch.autograd.grad(MixedInfoNCE(temperature=0.5, mix=0.2, form="paper").loss(left, right), right)[0]
    mixture = mix_neighbours(F.normalize(right, dim=-1), 0.2)
    logits = torch.cat([cosines(left, right), F.cosine_similarity(left, mixture, dim=-1)[:, None]], dim=1) / 0.5
    assert torch.allclose(result, torch.autograd.grad(F.cross_entropy(logits, torch.arange(3)), right)[0])
    assert not mixture.requires_grad
    far = [z.detach().requires_grad_() for z in (left, right)]
    third = cosines(mix_neighbours(far[0], 0.2), far[1]).sum()  # the anchors' mixtures move the positives alone
    assert torch.autograd.grad(third, far, allow_unused=True)[0] is None


def test_one_sentence_has_nothing_to_mix_with() -> None:
    for form in ("released", "paper"):
        assert MixedInfoNCE(temperature=0.5, mix=0.2, form=form)(step(*random(1))).item() == 0


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


def released(left: torch.Tensor, right: torch.Tensor, temperature: float) -> float:
    """Half of KL(p | m) + KL(q | m) of p and q of at least 1e-7, where log m is clamped from below, to 1e-7 always."""

    def rows(value: torch.Tensor, other: torch.Tensor) -> list[list[float]]:
        table = []
        for x in value:
            weights = [math.exp(torch.cosine_similarity(x, y, dim=0).item() / temperature) for y in other]
            table.append([max(weight / sum(weights), FLOOR) for weight in weights])
        return table

    total = 0.0
    p, q = rows(left, right), rows(right, left)
    for i in range(len(left)):
        for j in range(len(left)):
            middle = max(math.log((p[i][j] + q[i][j]) / 2), FLOOR)
            total += sum(value[i][j] * (math.log(value[i][j]) - middle) for value in (p, q)) / 2
    return total / len(left)


@pytest.mark.parametrize("temperature", [0.5, 0.05, 0.02])
def test_it_is_what_the_re_implementation_computes(temperature: float) -> None:
    left, noise = random(8, width=6)
    right = left + 0.1 * noise
    assert NegEntropy(temperature).loss(left, right).item() == pytest.approx(
        released(left, right, temperature), abs=3e-7
    )


def test_probabilities_below_the_floor_count_as_the_floor_and_are_not_pushed() -> None:
    left = torch.eye(4, dtype=torch.float64, requires_grad=True)
    loss = NegEntropy(0.02).loss(left, torch.eye(4, dtype=torch.float64))  # e^-50 elsewhere
    assert loss.item() == pytest.approx(3 * FLOOR * math.log(FLOOR), rel=1e-6)
    loss.backward()
    assert left.grad.abs().max() < 1e-12
