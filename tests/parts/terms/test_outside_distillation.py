"""Terms of a teacher from outside, their equations in loops over cases worked out elsewhere, and their invariances."""

import math

import pytest
import torch

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs
from cseb.parts.terms.distillation import (
    BankCE,
    CrossViewKL,
    Regress,
    bank_ce,
    bank_kl,
    regression,
    relation_gap,
)

S = [[0.6, -0.2, 0.5], [0.1, 0.9, -0.3]]
G = [[0.7, -0.1, 0.3], [0.2, 0.6, -0.4]]
T = [[0.5, 0.1, 0.4], [-0.2, 0.7, 0.2]]
QUEUE = [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, -1.0, 0.0]]
T_B = [[0.45, 0.2, 0.35], [-0.1, 0.8, 0.1]]
QUEUES = ([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]], [[0.8, 0.0, 0.6], [0.0, -1.0, 0.0]])


def doubles(values: list) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64)


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.hypot(*a) / math.hypot(*b)


def softmax(logits: list[float]) -> list[float]:
    whole = sum(map(math.exp, logits))
    return [math.exp(one) / whole for one in logits]


def distribution(rows: list, bank: list, tau: float) -> list[list[float]]:
    return [softmax([cosine(row, one) / tau for one in bank]) for row in rows]


def step(first: list, second: list, *frozen: list) -> LossInputs:
    views = [EncodedView(doubles(x), doubles(x), *[torch.zeros(2, 1)] * 3) for x in (first, second)]
    return LossInputs(views, torch.Generator(), frozen=[[doubles(one) for one in frozen]])


def test_regression_in_its_three_forms() -> None:
    mse = sum((S[i][j] - T[i][j]) ** 2 for i in range(2) for j in range(3)) / 6
    away = sum(1 - cosine(s, t) for s, t in zip(S, T, strict=True)) / 2
    found = [regression(doubles(S), doubles(T), form).item() for form in ("mse", "l2", "cosine")]
    assert found == pytest.approx([mse, 2 * away, away], abs=1e-12)
    assert found == pytest.approx([0.081666666667, 0.317661245067, 0.158830622533], abs=1e-8)


@pytest.mark.parametrize(
    ("students", "expected"), [("first", 0.317661245067), ("both", 0.862592086769), ("each_other", 0.957299127634)]
)
def test_second_views_are_compared_with_the_same_teacher(students: str, expected: float) -> None:
    assert Regress("l2", students)(step(S, G, T, T_B)).item() == pytest.approx(expected, abs=1e-8)


def test_relations_are_the_cosines_of_other_pairs_and_ask_for_no_width() -> None:
    gap = (cosine(S[0], S[1]) - cosine(T[0], T[1])) ** 2
    assert relation_gap(doubles(S), doubles(T)).item() == pytest.approx(gap, abs=1e-12)
    assert gap == pytest.approx(0.205439156748, abs=1e-8)
    wider = torch.nn.functional.pad(doubles(T), (0, 4))
    assert relation_gap(doubles(S), wider).item() == pytest.approx(gap, abs=1e-12)
    turned = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    assert relation_gap(5 * doubles(S) @ turned, doubles(S)).item() == pytest.approx(0.0, abs=1e-12)


def test_the_bank_is_answered_as_the_teacher_answers_it() -> None:
    bank = [*QUEUE, *([x / math.hypot(*row) for x in row] for row in T)]  # the release: its own batch among the columns
    targets = distribution(T, bank, 0.5)
    found = []
    for rows in (S, G):
        log = [[math.log(one) for one in row] for row in distribution(rows, bank, 0.7)]
        by_hand = (
            -sum(p * q for row, other in zip(targets, log, strict=True) for p, q in zip(row, other, strict=True)) / 2
        )
        found.append(bank_ce(doubles(rows), doubles(T), doubles(bank), 0.7, 0.5).item())
        assert found[-1] == pytest.approx(by_hand, abs=1e-12)
    assert found == pytest.approx([1.317572805569, 1.385885031878], abs=1e-8)
    term = BankCE(0.5, 0.7, 0.5, 100)
    term.precompute_targets([[doubles(bank)]])
    assert term(step(S, G, T)).item() == pytest.approx(1.351728918724, abs=1e-8)
    assert bank_kl(doubles(T), doubles(T), doubles(bank), 0.5, 0.5).item() == pytest.approx(0.0, abs=1e-12)


def test_a_rotation_of_student_teacher_and_bank_together_changes_nothing() -> None:
    turned = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))).Q
    sides = doubles(S), doubles(T), doubles(QUEUE)
    plain, other = bank_ce(*sides, 0.7, 0.5), bank_ce(*(side @ turned for side in sides), 0.7, 0.5)
    assert plain.item() == pytest.approx(other.item(), abs=1e-12)


def test_views_are_crossed() -> None:
    term = CrossViewKL(0.4, 0.5, 100)
    banks = [[*queue, *([x / math.hypot(*row) for x in row] for row in own)]
             for queue, own in zip(QUEUES, (T, T_B), strict=True)]  # fmt: skip
    term.precompute_targets([[doubles(bank) for bank in banks]])
    total = 0.0
    for student, teacher, bank in ((G, T, banks[0]), (S, T_B, banks[1])):
        wanted, given = distribution(teacher, bank, 0.4), distribution(student, bank, 0.5)
        total += (
            sum(p * math.log(p / q) for a, b in zip(wanted, given, strict=True) for p, q in zip(a, b, strict=True)) / 2
        )
    found = term(step(S, G, T, T_B)).item()
    assert found == pytest.approx(total, abs=1e-10)
    assert found == pytest.approx(0.234596359851, abs=1e-8)
