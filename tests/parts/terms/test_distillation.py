"""Distillation terms: their equations in loops over cases worked out elsewhere, and their invariances."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr

from cseb.parts import LossInputs
from cseb.parts.terms.distillation import (
    BankCE,
    CrossViewKL,
    ListwiseCE,
    RankMSE,
    Regress,
    Relational,
    bank_ce,
    bank_kl,
    masked_mse,
    regression,
    relation_gap,
    shuffled_groups,
    spearman,
)
from tests.parts.terms.two_views import cosine, doubles, random, rank_mse, step

S = [[0.6, -0.2, 0.5], [0.1, 0.9, -0.3]]
G = [[0.7, -0.1, 0.3], [0.2, 0.6, -0.4]]
T = [[0.5, 0.1, 0.4], [-0.2, 0.7, 0.2]]
QUEUE = [[1.0, 0.0, 0.0], [0.0, 0.6, 0.8], [0.0, -1.0, 0.0]]
T_B = [[0.45, 0.2, 0.35], [-0.1, 0.8, 0.1]]
QUEUES = ([[1.0, 0.0, 0.0], [0.0, 0.6, 0.8]], [[0.8, 0.0, 0.6], [0.0, -1.0, 0.0]])


def softmax(logits: list[float]) -> list[float]:
    whole = sum(map(math.exp, logits))
    return [math.exp(value) / whole for value in logits]


def distribution(rows: list, bank: list, tau: float) -> list[list[float]]:
    return [softmax([cosine(row, value) / tau for value in bank]) for row in rows]


def teacher_step(first: list, second: list, *frozen: list) -> LossInputs:
    return step(doubles(first), doubles(second), frozen=[list(map(doubles, frozen))])


def test_regression_in_its_three_forms() -> None:
    mse = sum((S[i][j] - T[i][j]) ** 2 for i in range(2) for j in range(3)) / 6
    away = sum(1 - cosine(s, t) for s, t in zip(S, T, strict=True)) / 2
    loss = [regression(doubles(S), doubles(T), form).item() for form in ("mse", "l2", "cosine")]
    assert loss == pytest.approx([mse, 2 * away, away], abs=1e-12)
    assert loss == pytest.approx([0.081666666667, 0.317661245067, 0.158830622533], abs=1e-8)


@pytest.mark.parametrize(
    ("students", "expected"), [("first", 0.317661245067), ("both", 0.862592086769), ("each_other", 0.957299127634)]
)
def test_second_views_are_compared_with_the_same_teacher(students: str, expected: float) -> None:
    assert Regress("l2", students).views == (1 if students == "first" else 2)
    assert Regress("l2", students)(teacher_step(S, G, T, T_B)).item() == pytest.approx(expected, abs=1e-8)


def test_views_that_are_compared_with_each_other_both_learn() -> None:
    views = [doubles(rows).requires_grad_() for rows in (S, G)]
    loss = lambda first, second: Regress("l2", "each_other")(step(first, second, frozen=[[doubles(T)]]))
    assert torch.autograd.gradcheck(loss, views)


def test_relations_are_the_cosines_of_other_pairs_and_ask_for_no_width() -> None:
    gap = (cosine(S[0], S[1]) - cosine(T[0], T[1])) ** 2
    assert relation_gap(doubles(S), doubles(T)).item() == pytest.approx(gap, abs=1e-12)
    assert gap == pytest.approx(0.205439156748, abs=1e-8)
    wider = torch.nn.functional.pad(doubles(T), (0, 4))
    assert relation_gap(doubles(S), wider).item() == pytest.approx(gap, abs=1e-12)
    turned = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))).Q
    assert relation_gap(5 * doubles(S) @ turned, doubles(S)).item() == pytest.approx(0.0, abs=1e-12)
    assert Relational()(teacher_step(S[:1], G[:1], T[:1])).item() == 0.0


def test_the_bank_is_answered_as_the_teacher_answers_it() -> None:
    bank = [*QUEUE, *([x / math.hypot(*row) for x in row] for row in T)]  # the release: its own batch among the columns
    targets = distribution(T, bank, 0.5)
    results = []
    for rows in (S, G):
        log = [[math.log(value) for value in row] for row in distribution(rows, bank, 0.7)]
        by_hand = -sum(p * q for a, b in zip(targets, log, strict=True) for p, q in zip(a, b, strict=True)) / 2
        results.append(bank_ce(doubles(rows), doubles(T), doubles(bank), 0.7, 0.5).item())
        assert results[-1] == pytest.approx(by_hand, abs=1e-12)
    assert results == pytest.approx([1.317572805569, 1.385885031878], abs=1e-8)
    term = BankCE(0.5, 0.7, 0.5, 100)
    term.precompute_targets([[doubles(bank)]])
    assert term(teacher_step(S, G, T)).item() == pytest.approx(1.351728918724, abs=1e-8)
    term.control = 0.2  # of the first view
    assert term(teacher_step(S, G, T)).item() == pytest.approx(0.2 * results[0] + 0.8 * results[1], abs=1e-12)
    assert bank_kl(doubles(T), doubles(T), doubles(bank), 0.5, 0.5).item() == pytest.approx(0.0, abs=1e-12)


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
    loss = term(teacher_step(S, G, T, T_B)).item()
    assert loss == pytest.approx(total, abs=1e-10)
    assert loss == pytest.approx(0.234596359851, abs=1e-8)


GRID = torch.tensor([[0.9, 0.4, 0.1], [0.2, 0.8, 0.7], [0.0, 0.6, 0.95]], dtype=torch.float64)


def test_spearman_is_scipys_on_rows_without_ties() -> None:
    profiles = random(4, width=9)[0].detach()
    result = spearman(profiles)
    assert torch.allclose(result.diagonal(), torch.ones(4))
    assert torch.equal(result, result.T)
    for i in range(4):
        for j in range(4):
            assert result[i, j].item() == pytest.approx(spearmanr(profiles[i], profiles[j]).statistic, abs=1e-6)


def test_rankings_are_over_evenly_spaced_sentences_of_the_subset() -> None:
    term = RankMSE(corpus=3, low=-1.0, high=1.0)
    vectors = random(9)[0].detach()
    term.precompute_targets([[vectors]])
    assert torch.allclose(*term.banks(vectors), F.normalize(vectors[[0, 4, 8]], dim=1))
    left, right = random(4)
    main = replace(step(left, right), frozen=[[vectors[:4]]])
    profiles = [[cosine(vectors[i], vectors[j]) for j in (0, 4, 8)] for i in range(4)]
    total = sum(
        (cosine(left[i], right[j]) - spearmanr(profiles[i], profiles[j]).statistic) ** 2
        for i in range(4) for j in range(4)
    )  # fmt: skip
    assert term(main).item() == pytest.approx(total / 16)


def test_groups_are_shuffled_within_and_hold_their_probability() -> None:
    ordered = torch.tensor([math.log(p) for p in (0.4, 0.25, 0.2, 0.1, 0.05)]).repeat(50, 1)
    rng = torch.Generator().manual_seed(0)
    assert shuffled_groups(ordered, 0.0, rng)[0].tolist() == [0, 1, 2, 3, 4]
    result = shuffled_groups(ordered, 0.5, rng)  # cumulated 0.4 | 0.65 0.85 0.95 1.0
    assert set(result[:, 0].tolist()) == {0}
    assert {row[-1] for row in result.tolist()} == {1, 2, 3, 4}, "the last one is in the last group, as in the code"
    assert len({tuple(row) for row in result.tolist()}) > 4
    assert result.equal(shuffled_groups(ordered, 0.5, torch.Generator().manual_seed(0)))
    assert all(sorted(row) == [0, 1, 2, 3, 4] for row in result.tolist())


def test_listwise_ce_equals_the_sum_written_out_and_leaves_the_sentence_itself_out() -> None:
    left, right = random(4)
    teacher = random(4, seed=3)[0].detach()
    total = 0.0
    for i in range(4):
        others = [j for j in range(4) if j != i]
        q = [math.exp(cosine(teacher[i], teacher[j]) / 0.4) for j in others]
        p = [math.exp(cosine(left[i], left[j]) / 0.5) for j in others]
        total -= sum(a / sum(q) * math.log(b / sum(p)) for a, b in zip(q, p, strict=True))
    term = ListwiseCE(student=0.5, teacher=0.4, group=0.0)
    loss = term(replace(step(left, right), frozen=[[teacher]]))
    assert loss.item() == pytest.approx(total / 4)
    shuffled = ListwiseCE(student=0.5, teacher=0.4, group=1.0)(replace(step(left, right), frozen=[[teacher]]))
    assert shuffled.item() != pytest.approx(total / 4)


def test_several_teachers_are_one_whose_cosines_are_their_mean() -> None:
    left, right = random(4)
    teachers = [z.detach() for z in random(4, seed=3)]
    total = 0.0
    for i in range(4):
        others = [j for j in range(4) if j != i]
        q = [math.exp(sum(cosine(t[i], t[j]) for t in teachers) / 2 / 0.4) for j in others]
        p = [math.exp(cosine(left[i], left[j]) / 0.5) for j in others]
        total -= sum(a / sum(q) * math.log(b / sum(p)) for a, b in zip(q, p, strict=True))
    inputs = replace(step(left, right), frozen=[[each] for each in teachers])
    assert ListwiseCE(student=0.5, teacher=0.4, group=0.0)(inputs).item() == pytest.approx(total / 4)


def test_groups_have_the_probability_of_cosines_without_a_temperature(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[torch.Tensor] = []

    def noted(ordered: torch.Tensor, *rest: object) -> torch.Tensor:
        seen.append(ordered)
        return shuffled_groups(ordered, *rest)

    monkeypatch.setattr("cseb.parts.terms.distillation.shuffled_groups", noted)
    left, right = random(4)
    teacher = random(4, seed=3)[0].detach()
    ListwiseCE(student=0.5, teacher=0.4, group=0.1)(replace(step(left, right), frozen=[[teacher]]))
    falling = [sorted((cosine(teacher[i], teacher[j]) for j in range(4) if j != i), reverse=True) for i in range(4)]
    assert torch.allclose(seen[0], doubles(falling))


def test_a_subset_of_equal_sentences_is_ranked_without_a_fault() -> None:
    term = rank_mse()
    term.precompute_targets([[torch.ones(10, 4, dtype=torch.float64)]])
    left, right = random(4)
    assert term(replace(step(left, right), frozen=[[torch.ones(4, 4, dtype=torch.float64)]])).isfinite()


def test_only_pairs_within_the_bounds_count() -> None:
    targets = torch.tensor([[1.0, 0.6, 0.4], [0.6, 1.0, 0.5], [0.4, 0.9999, 1.0]], dtype=torch.float64)
    expected = sum((GRID[i, j] - targets[i, j]) ** 2 for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))) / 4
    assert masked_mse(GRID, targets, 0.5, 0.9999).item() == pytest.approx(expected.item())
    assert masked_mse(GRID, targets, 0.7, 0.8).item() == 0
