"""Contrasts over triples that discount probable false negatives: GCSE and the last stage of MultiCSR."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import FROZEN
from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.debiased_contrast import softmax_bce
from cseb.parts.terms.infonce import cosines


def decay(logits: Tensor, frozen: Tensor, alpha: float) -> Tensor:
    """Return own hard negatives' logits (B,), decayed towards 0 where the frozen model's (B,) are as high or higher.

    z > b stays z; else it becomes z - z exp(-(z - b)^2 / (2 alpha^2)), whose second summand is a constant: the gradient
    is that of z. Source: Lai et al. 2024 (GCSE), authors' code.
    """
    gap = logits.detach() - frozen
    decay = logits.detach() * torch.exp(-gap.square() / (2 * alpha**2))
    return logits - decay.where(gap <= 0, torch.zeros_like(decay))


def gaussian_nce(
    anchors: Tensor, positives: Tensor, negatives: Tensor, frozen: Tensor, temperature: float, alpha: float
) -> Tensor:
    """Return the cross-entropy of the positive among positives and hard negatives (B, D), own hard negatives decayed.

    frozen: (B,) the frozen model's cosines of anchors and their own hard negatives. Source: Lai et al. 2024 (GCSE),
    authors' code.
    """
    logits = cosines(anchors, torch.cat([positives, negatives])) / temperature  # (B, 2 B)
    own = torch.arange(len(anchors), device=logits.device)
    hard = decay(logits[own, len(own) + own], frozen / temperature, alpha)
    return F.cross_entropy(logits.index_put((own, len(own) + own), hard), own)


def filtered_bce(views: tuple[Tensor, ...], frozen: tuple[Tensor, ...], temperature: float, threshold: float) -> Tensor:
    """Return the logistic loss of the softmax over positives and hard negatives, filtered ones at logit 0, in nats.

    views, frozen: anchors, positives and hard negatives (B, D) of the encoder and of the frozen model. A negative whose
    cosine the frozen model finds above the threshold is doubted: it stays in the softmax as exp(0) = 1. Source: Wang et
    al. 2024 (MultiCSR), authors' code, stage 3.
    """
    logits = cosines(views[0], torch.cat(views[1:])) / temperature  # (B, 2 B)
    kept = cosines(frozen[0], torch.cat(frozen[1:])) <= threshold
    kept.fill_diagonal_(True)
    return softmax_bce(logits, kept)


class GaussianNCE(nn.Module):
    """First view against the second and third; an own hard negative that may be false counts less.

    alpha: width of the decay, on the scale of cosine over temperature: 0.17 is a very narrow band, 8.58 (RoBERTa) a
    wide one. A frozen model says how alike anchor and hard negative are; where the encoder finds them as far apart or a
    little farther, they stop to repel each other. Source: Lai et al. 2024 (GCSE), authors' code.
    """

    preset: ClassVar = {"temperature": 0.05, "alpha": 0.17}  # GCSE release, BERT
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 3
    hard_frozen: ClassVar[bool] = True
    reads: ClassVar[Reads] = reads("z", "frozen", views=3, models=1)

    def __init__(self, temperature: Positive, alpha: Positive) -> None:
        super().__init__()
        self.temperature, self.alpha = temperature, alpha

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        anchors, positives, negatives = (view.z for view in step.views[:3])
        seen, _, hard = step.frozen[0][:3]
        frozen = F.cosine_similarity(seen, hard, dim=-1)
        return gaussian_nce(anchors, positives, negatives, frozen, self.temperature, self.alpha)


class FilteredBCE(nn.Module):
    """First view against the second and third, without negatives that a frozen model finds too similar.

    threshold: cosine of the frozen model above which a negative is doubted. Source: Wang et al. 2024 (MultiCSR),
    authors' code, stage 3.
    """

    preset: ClassVar = {"temperature": 0.05, "threshold": 0.95}  # MultiCSR release, its example
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 3
    hard_frozen: ClassVar[bool] = True
    reads: ClassVar[Reads] = reads("z", "frozen", views=3, models=1)

    def __init__(self, temperature: Positive, threshold: Annotated[float, Between(-1, 1)]) -> None:
        super().__init__()
        self.temperature, self.threshold = temperature, threshold

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        views = tuple(view.z for view in step.views[:3])
        return filtered_bce(views, tuple(step.frozen[0][:3]), self.temperature, self.threshold)
