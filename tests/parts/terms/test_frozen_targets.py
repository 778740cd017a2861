"""Terms that learn from frozen models, or against made-up vectors: their equations in loops."""

import math
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from scipy.stats import spearmanr

from cseb.errors import BadSpec
from cseb.parts.terms.distillation import ListwiseCE, RankMSE, masked_mse, shuffled_groups, spearman
from cseb.parts.terms.infonce import EachNCE, info_nce
from cseb.parts.terms.local_mutual_information import jsd_local_global
from cseb.parts.terms.margins import BidirMargin, bidir_margin
from cseb.parts.terms.virtual_augment import neighbour_nce, neighbourhood, nt_xent_knn, steepest_direction
from tests.conftest import check_options
from tests.parts.terms.two_views import cosine, random, rank_mse, step, virtual

GRID = torch.tensor([[0.9, 0.4, 0.1], [0.2, 0.8, 0.7], [0.0, 0.6, 0.95]], dtype=torch.float64)


def test_steepest_is_a_row_of_length_1_along_the_gradient_and_leaves_weights_alone() -> None:
    weight = torch.tensor([[3.0, 0.0], [0.0, 4.0]], requires_grad=True)
    with torch.no_grad():  # as when held-out sentences are looked at
        found = steepest_direction(
            torch.tensor([[1.0, 1.0], [0.0, 0.0]]), lambda point: ((point @ weight) ** 2).sum() / 2
        )
    assert torch.allclose(found, torch.tensor([[9 / math.hypot(9, 16), 16 / math.hypot(9, 16)], [0.0, 0.0]]))
    assert weight.grad is None
    assert not found.requires_grad


def test_spearman_is_scipys_on_rows_without_ties() -> None:
    profiles = random(4, width=9)[0].detach()
    found = spearman(profiles)
    assert torch.allclose(found.diagonal(), torch.ones(4))
    assert torch.equal(found, found.T)
    for i in range(4):
        for j in range(4):
            assert found[i, j].item() == pytest.approx(spearmanr(profiles[i], profiles[j]).statistic, abs=1e-6)


def test_only_pairs_within_the_bounds_count() -> None:
    targets = torch.tensor([[1.0, 0.6, 0.4], [0.6, 1.0, 0.5], [0.4, 0.9999, 1.0]], dtype=torch.float64)
    expected = sum((GRID[i, j] - targets[i, j]) ** 2 for i, j in ((0, 1), (1, 0), (1, 2), (2, 1))) / 4
    assert masked_mse(GRID, targets, 0.5, 0.9999).item() == pytest.approx(expected.item())
    assert masked_mse(GRID, targets, 0.7, 0.8).item() == 0


def test_rankings_are_over_evenly_spaced_sentences_of_the_subset() -> None:
    term = RankMSE(corpus=3, low=-1.0, high=1.0)
    vectors = random(9)[0].detach()
    term.precompute_targets([[vectors]])
    assert torch.allclose(term.corpus, F.normalize(vectors[[0, 4, 8]], dim=1))
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
    found = shuffled_groups(ordered, 0.5, rng)  # cumulated 0.4 | 0.65 0.85 0.95 1.0
    assert set(found[:, 0].tolist()) == {0}
    assert {row[-1] for row in found.tolist()} == {1, 2, 3, 4}, "the last one is in the last group, as in the code"
    assert len({tuple(row) for row in found.tolist()}) > 4
    assert all(sorted(row) == [0, 1, 2, 3, 4] for row in found.tolist())


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
    found = term(replace(step(left, right), frozen=[[teacher]]))
    assert found.item() == pytest.approx(total / 4)
    shuffled = ListwiseCE(student=0.5, teacher=0.4, group=1.0)(replace(step(left, right), frozen=[[teacher]]))
    assert shuffled.item() != pytest.approx(total / 4)


def test_neighbours_are_the_nearest_others() -> None:
    vectors = torch.tensor([[1.0, 0.0], [2.0, 0.1], [-1.0, 3.0], [0.0, 1.0]])
    assert neighbourhood(vectors, 1).flatten().tolist() == [1, 0, 3, 2]
    assert neighbourhood(vectors, 16).shape == (4, 3)
    assert all(i not in row for i, row in enumerate(neighbourhood(vectors, 16).tolist()))


def test_both_losses_among_neighbours_equal_the_sums_written_out() -> None:
    a, g = (F.normalize(z.detach(), dim=1) for z in random(4))
    near = torch.tensor([[1, 2], [0, 3], [3, 1], [0, 1]])
    inner = outer = 0.0
    for i in range(4):
        own = math.exp(a[i] @ g[i] / 0.5)
        inner -= math.log(own / (own + sum(math.exp(g[i] @ a[j] / 0.5) for j in near[i])))
        for row in (a[i], g[i]):
            rest = sum(math.exp(row @ a[j] / 0.5) + math.exp(row @ g[j] / 0.5) for j in near[i])
            outer -= math.log(own / (own + rest))
    assert neighbour_nce(a, g, near, 0.5).item() == pytest.approx(inner / 4)
    assert nt_xent_knn(a, g, near, 0.5).item() == pytest.approx(outer / 8)


def test_the_virtual_view_is_harder_to_tell_than_one_pushed_at_random() -> None:
    vectors = random(6)[0].detach()
    near, anchors = neighbourhood(vectors, 2), F.normalize(vectors, dim=1)
    start = F.normalize(torch.randn(6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)), dim=1)

    def confused(push: torch.Tensor) -> torch.Tensor:
        return neighbour_nce(anchors, F.normalize(vectors + 0.1 * push, dim=1), near, 0.5)

    assert confused(steepest_direction(start, confused)) > confused(start)


@pytest.mark.parametrize("detach", [True, False])
def test_the_virtual_term_is_the_contrast_with_the_worst_push(detach: bool) -> None:
    left, right = random(5)
    head = torch.nn.Linear(4, 3).double()
    drawn = torch.rand(left.shape, generator=torch.Generator().manual_seed(7)) - 0.5
    start = F.normalize(drawn, dim=1).double().requires_grad_()
    near, h = neighbourhood(left.detach(), 2), left.detach() if detach else left
    fixed = F.normalize(head(left.detach()), dim=1).detach()
    moved = F.normalize(head(left.detach() + 1.5 * start), dim=1)
    slope = torch.autograd.grad(neighbour_nce(fixed, moved, near, 0.5), start)[0]
    anchors = fixed if detach else F.normalize(head(h), dim=1)
    expected = nt_xent_knn(anchors, F.normalize(head(h + 1.5 * F.normalize(slope, dim=1)), dim=1), near, 0.5)
    main = replace(step(left, right), head=head, rng=torch.Generator().manual_seed(7))
    found = virtual(detach=detach)(main)
    assert found.item() == pytest.approx(expected.item())
    slopes = [torch.autograd.grad(loss, head.weight)[0] for loss in (found, expected)]
    assert torch.allclose(*slopes)


@pytest.mark.parametrize("detach", [True, False])
def test_as_released_the_virtual_view_trains_the_head_alone(detach: bool) -> None:
    left, right = random(5)
    head = torch.nn.Linear(4, 3).double()
    loss = virtual(detach=detach)(replace(step(left, right), head=head))
    encoder, weight = torch.autograd.grad(loss, [left, head.weight], allow_unused=True)
    assert (encoder is None) is detach
    assert weight.abs().max() > 0


def test_the_margin_is_0_within_both_bounds_alone() -> None:
    differences = torch.tensor([-0.5, -0.3, -0.2, -0.1, 0.1])
    near = torch.zeros(1)
    costs = [bidir_margin(near, one[None], 0.1, 0.3).item() for one in differences]
    assert costs == pytest.approx([0.2, 0, 0, 0, 0.2], abs=1e-6)
    left, right = random(3)
    edit = left.detach() + 2 * right.detach()
    moved = [cosine(left[i], edit[i]) - cosine(left[i], right[i]) for i in range(3)]
    expected = sum(max(one + 0.1, 0) + max(-one - 0.3, 0) for one in moved) / 3
    assert BidirMargin(least=0.1, most=0.3)(step(left, right, edits=[edit])).item() == pytest.approx(expected)


def test_every_positive_has_a_contrast_of_its_own() -> None:
    left, right = random(4)
    third = random(4, seed=8)[0]
    main = step(left, right)
    more = replace(main, views=[*main.views, step(third, third).views[0]])
    expected = info_nce(left, right, 0.05) + info_nce(left, third, 0.05)
    assert EachNCE(temperature=0.05)(more).item() == pytest.approx(expected.item())


def test_mutual_information_equals_the_sums_written_out_and_padding_does_not_count() -> None:
    rng = torch.Generator().manual_seed(0)
    local = torch.randn(3, 4, 5, generator=rng, dtype=torch.float64, requires_grad=True)
    sentences = torch.randn(3, 5, generator=rng, dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[1, 1, 0, 0], [1, 1, 1, 1], [1, 0, 0, 0]])
    positive, negative = [], []
    for b in range(3):
        for t in range(int(mask[b].sum())):
            for other in range(3):
                score = (local[b, t] @ sentences[other]).item()
                soft = math.log1p(math.exp(-score))
                (positive if other == b else negative).append(
                    math.log(2) - soft if other == b else soft + score - math.log(2)
                )
    expected = sum(negative) / len(negative) - sum(positive) / len(positive)
    assert (len(positive), len(negative)) == (7, 14)
    assert jsd_local_global(local, mask, sentences).item() == pytest.approx(expected)
    assert torch.autograd.gradcheck(lambda a, b: jsd_local_global(a, mask, b), (local, sentences))
    assert jsd_local_global(local[:1], mask[:1], sentences[:1]).isfinite()
    assert jsd_local_global(local * 0, mask, sentences).item() == pytest.approx(0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BidirMargin(least=0.3, most=0.3), "least must be below most"),
        (lambda: ListwiseCE(student=0.1, teacher=0.1, group=1e-6), "0 shuffles nothing"),
        (lambda: check_options("debiased_nce", threshold=2.0), "threshold is 2.0"),
        (lambda: check_options("debiased_nce", form="other"), "form is 'other'"),
        (lambda: check_options("rank_mse", corpus=1), "corpus is 1"),
        (lambda: check_options("virtual_nt_xent", neighbours=0), "neighbours is 0"),
    ],
)
def test_options_that_cannot_be_are_refused(make: object, message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        make()  # type: ignore[operator]


def test_a_subset_of_equal_sentences_is_ranked_without_a_fault() -> None:
    term = rank_mse()
    term.precompute_targets([[torch.ones(10, 4, dtype=torch.float64)]])
    left, right = random(4)
    assert term(replace(step(left, right), frozen=[[torch.ones(4, 4, dtype=torch.float64)]])).isfinite()
