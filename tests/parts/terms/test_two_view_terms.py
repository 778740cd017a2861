"""What terms of two views must keep to: right gradients, symmetry, order, one sentence, equal sentences, options."""

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch

from cseb.parts import LossInputs
from cseb.parts.terms.agreement import Entropy, GroupSoftmaxBCE, KLPeers, Regulators
from cseb.parts.terms.contrast_in_batch import BCEPairs, JSConsistency, MixedInfoNCE, NegEntropy, NTXent
from cseb.parts.terms.dimension_contrast import DCM, FORMS, CrossCorrelation, MeanCos
from cseb.parts.terms.distillation import ListwiseCE
from cseb.parts.terms.infonce import Alignment, EachNCE, InfoNCE, Reconstruction
from cseb.parts.terms.margins import ArcNCE, BidirMargin
from tests.parts.terms.two_views import Term, debiased, random, rank_mse, smooth, step, virtual

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
    "nt_xent": (lambda: NTXent(temperature=0.5), True, True),
    "bce_pairs": (lambda: BCEPairs(reduction="mean"), True, True),
    "bce_pairs sum": (lambda: BCEPairs(reduction="sum"), True, True),
    "infonce": (lambda: InfoNCE(temperature=0.5), False, True),
    "infonce zeroed": (lambda: InfoNCE(temperature=0.5, negatives="zeroed"), True, True),
    "infonce hard": (lambda: with_third(InfoNCE(temperature=0.5, hard_weight=2.0)), False, True),
    "entropy": (lambda: Entropy(temperature=0.5), False, True),
    "entropy all columns": (lambda: with_third(Entropy(temperature=0.5, all_columns=True)), False, True),
    "regulators": (lambda: with_peer(Regulators(temperature=0.5)), True, True),
    "each_nce": (lambda: EachNCE(temperature=0.5), False, True),
    "bidir_margin": (lambda: with_peer(BidirMargin(least=0.0, most=0.1)), False, True),
    "rank_mse": (lambda: with_peer(rank_mse()), False, True),
    "listwise_ce": (lambda: with_peer(ListwiseCE(student=0.5, teacher=0.3, group=0.0)), False, True),
    "debiased_nce": (lambda: with_peer(debiased(noise=0.0)), False, True),
    "debiased_nce noise": (lambda: with_peer(debiased(noise=1.0)), False, True),
    "debiased_nce weighted": (lambda: with_peer(debiased(noise=0.0, form="weighted")), False, True),
    "virtual_nt_xent": (lambda: with_peer(virtual()), False, False),
    "alignment": (Alignment, True, True),
    **{f"dcm {form}": (lambda form=form: DCM(form=form), True, True) for form in FORMS},
    "dcm unbiased": (lambda: DCM(deviation="unbiased"), True, True),
    **{
        f"reconstruction {form}": (lambda form=form: Reconstruction(form=form), True, True)
        for form in ("released", "unit", "raw")
    },
}


LOOSE = ("smooth", "mixed_infonce", "virtual_nt_xent")  # whose constants hang on the vectors themselves


def with_peer(term: Term) -> Term:
    """The term on a step with edits, a frozen model near to the encoder, and a head; it asks something of all views."""

    def seen(main: LossInputs) -> torch.Tensor:
        left, right = (view.z for view in main.views)
        frozen = [[z.detach().round(decimals=2) for z in (left, right)]]
        edited = step(left, right, edits=[left - 2 * right]).edits
        loss = term(replace(main, edits=edited, frozen=frozen, head=torch.tanh))
        return loss + 0 * right.sum()

    return seen


def with_third(term: Term) -> Term:
    """The term on a step with hard negatives, which depend on both views."""
    return lambda main: term(step(*(view.z for view in main.views), main.views[0].z - 2 * main.views[1].z))


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
