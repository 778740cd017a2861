"""Terms of the low-shot baselines on two views: the equations in loops, and what all of them must keep to."""

import math
from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F

from cseb.errors import BadSpec
from cseb.parts import LossInputs
from cseb.parts.terms.angular_margin import ArcNCE, Triplet, arc_nce, widened
from cseb.parts.terms.debiased_contrast import DebiasedNCE
from cseb.parts.terms.dimension_contrast import CrossCorrelation, MeanCos
from cseb.parts.terms.distillation import ListwiseCE, RankMSE
from cseb.parts.terms.frozen_copy import multi_layer_nce
from cseb.parts.terms.infonce import EachNCE, cosines, info_nce
from cseb.parts.terms.mixed_negatives import MixedInfoNCE, mixed, mixed_info_nce_paper
from cseb.parts.terms.peer_networks import GroupSoftmaxBCE, KLPeers
from cseb.parts.terms.rank_consistency import JSConsistency, NegEntropy
from cseb.parts.terms.similarity_margin import BidirMargin
from cseb.parts.terms.virtual_augment import VirtualNTXent
from tests.conftest import check_options
from tests.parts.terms.two_views import Term, cosine, random, smooth, step

# Every term of two views, and whether it is symmetric in them and blind to the order of the batch.
TERMS: dict[str, tuple[Callable[[], Term], bool, bool]] = {
    "mean_cos": (lambda: MeanCos(temperature=0.5), True, True),
    "cross_correlation": (lambda: CrossCorrelation(off_diagonal=0.3), True, True),
    "js_consistency": (lambda: JSConsistency(temperature=0.5), True, True),
    "neg_entropy": (lambda: NegEntropy(temperature=0.5), True, True),
    "arc_nce": (lambda: ArcNCE(temperature=0.5, margin=10.0), False, True),
    "group_softmax_bce": (lambda: GroupSoftmaxBCE(temperature=0.5), False, True),
    "kl_peers": (lambda: paired(KLPeers(temperature=0.5, reduction="batchmean")), False, True),
    "smooth": (lambda: smooth(size=5), False, True),
    "mixed_infonce": (lambda: MixedInfoNCE(temperature=0.5, mix=0.2, form="released"), False, False),
    "mixed_infonce paper": (lambda: MixedInfoNCE(temperature=0.5, mix=0.2, form="paper"), False, False),
    "each_nce": (lambda: EachNCE(temperature=0.5), False, True),
    "bidir_margin": (lambda: with_peer(BidirMargin(least=0.0, most=0.1)), False, True),
    "rank_mse": (lambda: with_peer(rank_mse()), False, True),
    "listwise_ce": (lambda: with_peer(ListwiseCE(student=0.5, teacher=0.3, group=0.0)), False, True),
    "debiased_nce": (lambda: with_peer(debiased(noise=0.0)), False, True),
    "debiased_nce noise": (lambda: with_peer(debiased(noise=1.0)), False, True),
    "debiased_nce weighted": (lambda: with_peer(debiased(noise=0.0, form="weighted")), False, True),
    "virtual_nt_xent": (lambda: with_peer(virtual()), False, False),
}
LOOSE = ("smooth", "mixed_infonce", "virtual_nt_xent")  # whose constants hang on the vectors themselves


def debiased(**options: object) -> DebiasedNCE:
    settled = {"temperature": 0.5, "threshold": 0.3, "ascents": 0, "size": 0.1, "form": "released", **options}
    return DebiasedNCE(**settled)  # type: ignore[arg-type]


def virtual(**options: object) -> VirtualNTXent:
    settled = {"temperature": 0.5, "neighbours": 2, "reach": 1.5, "detach": False, **options}
    return VirtualNTXent(**settled)  # type: ignore[arg-type]


def rank_mse() -> RankMSE:
    term = RankMSE(corpus=10, low=-1.0, high=0.9999)
    term.precompute_targets([[torch.randn(10, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)]])
    return term


def with_peer(term: Term) -> Term:
    """The term on a step with edits, a frozen model near to the encoder, and a head; it asks something of all views."""

    def seen(main: LossInputs) -> torch.Tensor:
        left, right = (view.z for view in main.views)
        frozen = [[z.detach().round(decimals=2) for z in (left, right)]]
        edited = step(left, right, edits=[left - 2 * right]).edits
        loss = term(replace(main, edits=edited, frozen=frozen, head=torch.tanh))
        return loss + 0 * right.sum()

    return seen


def paired(term: KLPeers) -> Term:
    """The term on a step whose peer sees both views the other way round, and twice as long."""

    def alone(main: LossInputs) -> torch.Tensor:
        left, right = (view.z for view in main.views)
        return term(replace(main, peer=step(right, left + right)))

    return alone


@pytest.mark.parametrize("name", [name for name in TERMS if name not in LOOSE])
def test_gradients_are_those_of_finite_differences(name: str) -> None:
    term = TERMS[name][0]()
    if name == "mixed_infonce paper":  # what is mixed is a constant: anchors alone
        left, right = random(4)
        assert torch.autograd.gradcheck(lambda a: term(step(a, right.detach())), (left,))
    else:
        assert torch.autograd.gradcheck(lambda a, b: term(step(a, b)), random(4))


@pytest.mark.parametrize("name", TERMS)
def test_symmetry_and_order(name: str) -> None:
    make, symmetric, unordered = TERMS[name]
    left, right = random(5)
    order = torch.tensor([3, 0, 4, 1, 2])
    once = make()(step(left, right))
    assert torch.allclose(once, make()(step(right, left))) is symmetric
    assert torch.allclose(once, make()(step(left[order], right[order]))) is unordered


@pytest.mark.parametrize("rows", [1, 2, 5])
@pytest.mark.parametrize("equal", [False, True])
@pytest.mark.parametrize("name", TERMS)
def test_one_sentence_and_equal_sentences_have_a_finite_loss_and_gradient(name: str, equal: bool, rows: int) -> None:
    left, right = (torch.ones(rows, 4, requires_grad=True) for _ in range(2)) if equal else random(rows)
    loss = TERMS[name][0]()(step(left, right))
    loss.backward()
    assert loss.isfinite()
    assert right.grad is not None
    assert all(side.grad is None or side.grad.isfinite().all() for side in (left, right))


def test_self_contrast_is_the_mean_cosine_over_the_temperature() -> None:
    left, right = random(3)
    expected = sum(cosine(a, b) for a, b in zip(left, right, strict=True)) / 3 / 0.05
    assert MeanCos(temperature=0.05)(step(left, right)).item() == pytest.approx(expected)
    assert MeanCos(temperature=0.05)(step(left, left)).item() == pytest.approx(20)


def test_cross_correlation_equals_the_sums_written_out() -> None:
    left, right = random(5)
    total = 0.0
    for j in range(4):
        for k in range(4):
            a, b = left[:, j].tolist(), right[:, k].tolist()
            ma, mb = sum(a) / 5, sum(b) / 5
            va, vb = sum((x - ma) ** 2 for x in a), sum((y - mb) ** 2 for y in b)
            rho = sum((x - ma) * (y - mb) for x, y in zip(a, b, strict=True)) / math.sqrt(va * vb)
            total += (rho - 1) ** 2 if j == k else 0.012 * rho**2
    assert CrossCorrelation(off_diagonal=0.012)(step(left, right)).item() == pytest.approx(total)


def test_cross_correlation_of_equal_whitened_views_is_0() -> None:
    whitened = torch.linalg.qr(torch.randn(6, 4, dtype=torch.float64) - 0.0)[0]
    whitened = torch.linalg.qr(whitened - whitened.mean(dim=0))[0]  # columns of mean 0, orthogonal
    assert CrossCorrelation(off_diagonal=1.0)(step(whitened, whitened)).item() == pytest.approx(0, abs=1e-12)
    one = random(1)
    assert CrossCorrelation(off_diagonal=1.0)(step(*one)).item() == 4  # no spread, no correlation


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


def test_released_mixtures_equal_the_sum_written_out() -> None:
    left, right = random(3)
    m1, m2 = ([0.2 * z[i] + 0.8 * z[(i + 1) % 3] for i in range(3)] for z in (left, right))
    total = 0.0
    for i in range(3):
        columns = [cosine(left[i], right[j]) for j in range(3)]
        columns += [0.0 if j == (i - 1) % 3 else cosine(left[i], m2[j]) for j in range(3)]
        columns += [0.0 if j == (i + 1) % 3 else cosine(m1[i], right[j]) for j in range(3)]
        total -= math.log(math.exp(columns[i] / 0.05) / sum(math.exp(one / 0.05) for one in columns))
    found = MixedInfoNCE(temperature=0.05, mix=0.2, form="released")(step(left, right))
    assert found.item() == pytest.approx(total / 3)


def test_the_papers_mixture_is_one_more_candidate() -> None:
    left, right = random(3)
    unit = F.normalize(right, dim=-1)
    total = 0.0
    for i in range(3):
        columns = [cosine(left[i], right[j]) for j in range(3)]
        columns.append(cosine(left[i], 0.2 * unit[i] + 0.8 * unit[(i + 1) % 3]))
        total -= math.log(math.exp(columns[i] / 0.05) / sum(math.exp(one / 0.05) for one in columns))
    found = MixedInfoNCE(temperature=0.05, mix=0.2, form="paper")(step(left, right))
    assert found.item() == pytest.approx(total / 3)


def test_no_gradient_flows_into_a_mixture() -> None:
    left, right = random(3)
    found = torch.autograd.grad(mixed_info_nce_paper(left, right, 0.5, 0.2), right)[0]
    mixture = mixed(F.normalize(right, dim=-1), 0.2)
    logits = torch.cat([cosines(left, right), F.cosine_similarity(left, mixture, dim=-1)[:, None]], dim=1) / 0.5
    assert torch.allclose(found, torch.autograd.grad(F.cross_entropy(logits, torch.arange(3)), right)[0])
    assert not mixture.requires_grad
    far = [z.detach().requires_grad_() for z in (left, right)]
    third = cosines(mixed(far[0], 0.2), far[1]).sum()  # the anchors' mixtures move the positives alone
    assert torch.autograd.grad(third, far, allow_unused=True)[0] is None


def test_one_sentence_has_nothing_to_mix_with() -> None:
    for form in ("released", "paper"):
        assert MixedInfoNCE(temperature=0.5, mix=0.2, form=form)(step(*random(1))).item() == 0


def test_the_margin_is_added_to_the_angle_of_the_positive() -> None:
    left, right = random(3)
    total = 0.0
    for i in range(3):
        wide = math.cos(math.acos(cosine(left[i], right[i])) + math.radians(10))
        others = sum(math.exp(cosine(left[i], right[j]) / 0.05) for j in range(3) if j != i)
        total -= math.log(math.exp(wide / 0.05) / (math.exp(wide / 0.05) + others))
    found = ArcNCE(temperature=0.05, margin=10.0)(step(left, right)).item()
    assert found == pytest.approx(total / 3, abs=1e-4)
    assert arc_nce(left, right, 0.05, 0.0).item() == pytest.approx(info_nce(left, right, 0.05).item(), abs=1e-4)
    assert found > info_nce(left, right, 0.05).item()


def test_a_widened_angle_falls_all_the_way() -> None:
    angles = torch.linspace(0, math.pi, 200, dtype=torch.float64)
    found = widened(angles.cos(), math.radians(30))
    assert (found.diff() < 0).all()
    inside = angles < math.pi - math.radians(30)
    assert torch.allclose(found[inside], (angles[inside] + math.radians(30)).cos(), atol=2e-4)
    exact = torch.tensor([1.0, -1.0], requires_grad=True)  # no infinite slope
    widened(exact, 0.2).sum().backward()
    assert exact.grad is not None
    assert exact.grad.isfinite().all()


def test_triplets_want_the_less_hidden_edit_nearer() -> None:
    anchors, near = random(3)
    far, _ = random(3, seed=7)
    margins = [cosine(a, c) - cosine(a, b) for a, b, c in zip(anchors, near, far, strict=True)]
    found = Triplet(margin=0.1)(step(anchors, near, edits=(near, far)))
    assert found.item() == pytest.approx(sum(max(0.0, one + 0.1) for one in margins) / 3)
    assert Triplet(margin=0.0)(step(anchors, near, edits=(anchors, far))).item() == 0
    tell = lambda a, b, c: Triplet(margin=2.0)(step(a, b, edits=(b, c)))
    assert torch.autograd.gradcheck(tell, (anchors, near, far))


def test_groups_equal_the_sums_written_out() -> None:
    views, edits = random(3), random(3, seed=5)
    main = step(*views, edits=edits)
    other = step(*random(3, seed=8), edits=random(3, seed=9))

    def row(left: LossInputs, right: LossInputs, i: int) -> list[float]:
        group = [right.views[1].z[i], *(edit.z[i] for edit in right.edits)]
        rest = [right.views[0].z[j] for j in range(3) if j != i]
        return [cosine(left.views[0].z[i], one) / 0.05 for one in (*group, *rest)]

    def chances(left: LossInputs, right: LossInputs, i: int) -> list[float]:
        exps = [math.exp(one) for one in row(left, right, i)]
        return [one / sum(exps) for one in exps]

    squashed = [[1 / (1 + math.exp(-p)) for p in chances(main, main, i)] for i in range(3)]
    bce = -sum(math.log(p if k < 3 else 1 - p) for line in squashed for k, p in enumerate(line)) / 15
    assert GroupSoftmaxBCE(temperature=0.05)(main).item() == pytest.approx(bce)
    pairs = [((main, other), (other, main)), ((main, main), (other, other))]
    total = sum(
        b * (math.log(b) - math.log(a))
        for first, second in pairs
        for i in range(3)
        for a, b in zip(chances(*first, i), chances(*second, i), strict=True)
    )
    told = replace(main, peer=other)
    assert KLPeers(temperature=0.05, reduction="element")(told).item() == pytest.approx(total / 15)
    assert KLPeers(temperature=0.05, reduction="batchmean")(told).item() == pytest.approx(total / 3)
    assert KLPeers(temperature=0.05, reduction="element")(replace(main, peer=main)).item() == pytest.approx(0)


def test_both_networks_get_a_gradient() -> None:
    main, other = random(3), random(3, seed=8)
    KLPeers(temperature=0.5, reduction="element")(replace(step(*main), peer=step(*other))).backward()
    assert all(z.grad is not None and z.grad.any() for z in (*main, *other))


@pytest.mark.parametrize("temperature", [0.01, 0.5])
def test_layers_share_their_negatives(temperature: float) -> None:
    anchors, _ = random(3)
    layers = torch.randn(3, 2, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(1)).requires_grad_()

    def d(i: int, j: int, k: int) -> float:
        return math.exp(cosine(anchors[i], layers[j, k]) / temperature)

    total = 0.0
    for i in range(3):
        rest = sum(d(i, j, k) for j in range(3) if j != i for k in range(2))
        total -= sum(math.log(d(i, i, k) / (d(i, i, k) + rest)) for k in range(2))
    assert multi_layer_nce(anchors, layers, temperature).item() == pytest.approx(total / 6)
    assert torch.autograd.gradcheck(lambda a, b: multi_layer_nce(a, b, 0.5), (anchors, layers))
    assert multi_layer_nce(anchors[:1], layers[:1], 0.01).item() == 0
    order = torch.tensor([2, 0, 1])
    assert torch.allclose(multi_layer_nce(anchors[order], layers[order], 0.5), multi_layer_nce(anchors, layers, 0.5))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: smooth(size=4, neighbours=4), "smooth: neighbours is 4 of size 4"),
        (lambda: check_options("smooth", attention=0), "smooth: attention is 0"),
        (lambda: check_options("mixed_infonce", mix=0.7), "mixed_infonce: mix is 0.7"),
        (lambda: check_options("mixed_infonce", form="both"), "mixed_infonce: form is 'both'"),
        (lambda: check_options("arc_nce", margin=91), "arc_nce: margin is 91"),
        (lambda: check_options("kl_peers", reduction="sum"), "kl_peers: reduction is 'sum'"),
        (lambda: check_options("js_consistency", temperature=0), "js_consistency: temperature is 0"),
        (lambda: check_options("cross_correlation", off_diagonal=-1), "cross_correlation: off_diagonal is -1"),
    ],
)
def test_options_that_cannot_be_are_refused(make: Callable[[], Term], message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        make()
