"""Encoders in half precision: what losses make of their vectors is what float32 makes of them."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from cseb.encoder.interface import EncodedView
from cseb.parts import LossInputs, Term
from cseb.parts.heads import whiten_groups
from cseb.parts.terms.adversarial import neighbour_nce, nt_xent_knn
from cseb.parts.terms.agreement import group_logits, multi_layer_nce
from cseb.parts.terms.contrast_in_batch import bce_pairs, nt_xent
from cseb.parts.terms.dimension_contrast import MeanCos, correlations, neighbourhood
from cseb.parts.terms.distillation import regression, spearman
from cseb.parts.terms.infonce import (
    Alignment,
    cosines,
    info_nce,
    info_nce_literal,
    info_nce_zeroed,
    squared_distance,
)
from cseb.parts.terms.margins import ArcNCE, BidirMargin, RankScores, ScoreMSE, Triplet, angle_scores
from cseb.parts.terms.memory_contrast import smoothed
from cseb.parts.terms.mutual_information import jsd_local_global
from tests.training.small_runs import FIT, Tiny, built_of, run


def alike(*shape: int, seed: int = 0) -> Tensor:
    """Vectors in a narrow cone, in half precision: their cosines differ by less than it can tell."""
    drawn = torch.randn(*shape, generator=torch.Generator().manual_seed(seed))
    return (drawn + 5).bfloat16()


LEFT, RIGHT = alike(8, 16), alike(8, 16, seed=1)


def of_term(term: Term) -> Callable[[Tensor, Tensor], Tensor]:
    """The term on a step of two views, which are its edits too, with ratings."""

    def loss(left: Tensor, right: Tensor) -> Tensor:
        none = torch.zeros(len(left), 1, dtype=torch.long)
        views = [EncodedView(z, z, none, none, none) for z in (left, right)]
        return term(LossInputs(views, torch.Generator(), edits=views, scores=torch.arange(float(len(left)))))

    return loss


NEAR = torch.arange(8).view(8, 1).add(torch.arange(1, 4)) % 8
LOSSES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "cosines": cosines,
    "info_nce": lambda left, right: info_nce(left, right, 0.05),
    "info_nce_zeroed": lambda left, right: info_nce_zeroed(left, right, 0.05),
    "info_nce_literal": lambda left, right: info_nce_literal(left, right, left[:0], 0.05, torch.ones(8, 0).bool()),
    "alignment": Alignment().loss,
    "squared_distance unit": lambda left, right: squared_distance(left, right, "unit"),
    "squared_distance raw": lambda left, right: squared_distance(left, right, "raw"),
    "regression mse": lambda left, right: regression(left, right, "mse"),
    "regression cosine": lambda left, right: regression(left, right, "cosine"),
    "group_logits": lambda left, right: group_logits(left, right, right[None], 0.05),
    "angle_scores": angle_scores,
    "mean_cos": of_term(MeanCos(0.05)),
    "triplet": of_term(Triplet(1.0)),
    "bidir_margin": of_term(BidirMargin(0.1, 0.3)),
    "rank_scores": of_term(RankScores(20.0, "cosine")),
    "score_mse": of_term(ScoreMSE(0.0, 5.0)),
    "nt_xent": lambda left, right: nt_xent(left, right, 0.04),
    "arc_nce": ArcNCE(temperature=0.05, margin=10.0).loss,
    "correlations": lambda left, right: correlations(left, right, centre=True),
    "neighbourhood": lambda left, right: neighbourhood(left, right, 2.0),
    "bce_pairs": lambda left, right: bce_pairs(left, right, torch.arange(8) < 3, "mean"),
    "multi_layer_nce": lambda left, right: multi_layer_nce(left, torch.stack([left, right], dim=1), 0.01),
    "jsd_local_global": lambda left, right: jsd_local_global(torch.stack([left, right], dim=1), torch.ones(8, 2), left),
    "spearman": lambda left, right: spearman(cosines(left, right)),
    "nt_xent_knn": lambda left, right: nt_xent_knn(left, right, NEAR, 0.05),
    "neighbour_nce": lambda left, right: neighbour_nce(left, right, NEAR, 0.05),
    "smoothed": lambda left, right: smoothed(left, right[NEAR], torch.ones(8, 3, dtype=torch.bool), 2.0),
    "whiten_groups": lambda left, right: whiten_groups(left, torch.arange(16), 8, 1e-5),
}


@pytest.mark.parametrize("name", LOSSES)
def test_a_loss_under_autocast_is_that_of_the_same_vectors_in_float32(name: str) -> None:
    loss = LOSSES[name]
    expected = loss(LEFT.float(), RIGHT.float())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        result = loss(LEFT, RIGHT)
    assert result.dtype == torch.float32
    assert torch.allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_sentence_is_not_its_own_neighbour(tiny: Tiny, precision: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """RankEncoder counts pairs whose rank correlation is at most 0.9999; in half precision 1 would be."""
    counted: list[Tensor] = []

    def noted(cosine: Tensor, targets: Tensor, low: float, high: float) -> Tensor:
        counted.append(((targets >= low) & (targets <= high)).diagonal().clone())
        return (cosine - targets).square().mean()

    monkeypatch.setattr("cseb.parts.terms.distillation.masked_mse", noted)
    recipe = f"recipe(steps=2,warmup=0,batch_size=8,eval_every=2,precision={precision})"
    built = built_of(tiny, f"rankencoder+teacher(steps=1)+{recipe}")
    run(built)
    assert len(counted) == 2
    assert not torch.cat(counted).any()


@pytest.mark.parametrize("name", ["simcse", "micse", "msse", "scd", "sg-opt", "arccse", "mixcse", "promptbert"])
def test_the_loss_of_half_precision_is_near_that_of_full(tiny: Tiny, name: str) -> None:
    """Dropout masks are the same, so only rounding inside the encoder is left."""
    results = []
    for precision in ("fp32", "bf16"):
        recipe = f"recipe(steps=1,warmup=0,batch_size=16,eval_every=1,precision={precision})"
        built = built_of(tiny, f"{name}{FIT.get(name, '')}+{recipe}")
        results.append(run(built).curve[0][1])
    assert results[1] == pytest.approx(results[0], rel=0.03)


def test_the_encoder_itself_computes_in_half_precision(tiny: Tiny) -> None:
    """Else nothing would be gained."""
    built = built_of(tiny, "simcse+recipe(steps=1,warmup=0,batch_size=8,precision=bf16)")
    seen: list[torch.dtype] = []
    built.encoder.backbone.encoder.layer[0].intermediate.dense.register_forward_hook(
        lambda module, inputs, output: seen.append(output.dtype)
    )
    run(built)
    assert seen == [torch.bfloat16]
