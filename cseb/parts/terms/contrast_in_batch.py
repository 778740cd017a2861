"""Contrasts within a batch: two-sided (Mirror-BERT), by pairs (CT), mixed negatives (MixCSE), rankings (RankCSE)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.device_batches import in_full
from cseb.methods.option_types import Between, Count, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm, PairLoss
from cseb.parts.terms.infonce import cosines, diagonal, info_nce, match_loss, row_cosines

SMALLEST = 1e-7  # of a probability. Source: public re-implementation of RankCSE


def nt_xent(left: Tensor, right: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of every vector's partner among all others of both views, over 2 B anchors, in nats.

    left, right: (B, D), any lengths. 1 positive and 2 B - 2 negatives each. Source: Chen et al. 2020 (SimCLR), eq. 1;
    Liu et al. 2021 (Mirror-BERT).
    """
    both = torch.cat([left, right])  # (2 B, D)
    logits = cosines(both, both) / temperature
    partners = torch.arange(len(both), device=both.device).roll(len(left))
    return F.cross_entropy(logits.masked_fill(diagonal(logits), float("-inf")), partners)


class NTXent(PairLoss):
    """Both views against all other vectors of the batch, in both directions.

    Source: Liu et al. 2021 (Mirror-BERT).
    """

    temperature: Positive = 0.04  # Mirror-BERT, sentences

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        return nt_xent(left, right, self.temperature)


class SpanNTXent(LossTerm):
    """Each anchor against the mean of its positives, in both directions, among all others of the batch.

    Spans of the same document that belong to another anchor are negatives too. anchors, positives: as `spans` has them.
    Source: Giorgi et al. 2021 (DeCLUTR), section 3.1; authors' code.
    """

    # DeCLUTR release
    def __init__(self, temperature: Positive = 0.05, anchors: Count = 2, positives: Count = 2) -> None:
        self.temperature, self.spans = temperature, (anchors, positives)
        self.views = anchors * (1 + positives)  # type: ignore[misc]  # as many as this one compares
        self.reads = reads("z", views=self.views)

    def forward(self, step: LossInputs) -> Tensor:
        z = torch.stack([view.z for view in step.views[: self.views]])  # (V, B, D)
        anchors, positives = z[: self.spans[0]], z[self.spans[0] :]
        means = positives.view(*self.spans, *z.shape[1:]).mean(dim=1)  # (anchors, B, D)
        return nt_xent(anchors.flatten(0, 1), means.flatten(0, 1), self.temperature)


@in_full
def bce_pairs(left: Tensor, right: Tensor, same: Tensor, reduction: str) -> Tensor:
    """Return the logistic loss of dot products, positive where a pair renders one sentence; mean or sum over pairs.

    left, right: (B, D) as they are. same: (B,) bool. In float32 or better: dot products of means are of order 100.
    """
    scores = (left * right).sum(dim=-1)
    return F.binary_cross_entropy_with_logits(scores, same.to(scores.dtype), reduction=reduction)


class BCEPairs(LossTerm):
    """Logistic loss of each pair by itself.

    reduction: "mean" (released) or "sum" (sentence-transformers). Source: Carlsson et al. 2021 (CT).
    """

    reads: ClassVar[Reads] = reads("z", views=2)
    same: ClassVar[bool] = True
    reduction: Literal["mean", "sum"] = "mean"  # CT release

    def forward(self, step: LossInputs) -> Tensor:
        left, right = step.views[0].z, step.views[1].z
        same = torch.ones(len(left), device=left.device) if step.same is None else step.same
        return bce_pairs(left, right, same, self.reduction)


def mix_neighbours(vectors: Tensor, weight: float) -> Tensor:
    """Return each vector times `weight` plus the next one, cyclically, times the remainder; constants. (B, D)."""
    return (weight * vectors + (1 - weight) * vectors.roll(-1, dims=0)).detach()


def mixed_logits(left: Tensor, right: Tensor, weight: float) -> Tensor:
    """Return cosines (B, 3 B) with the positives, their mixtures, and of the anchors' mixtures with the positives.

    left, right: (B, D). A mixture that contains more of the anchor's own sentence has cosine 0. Source: authors' code.
    """
    positives = cosines(left, right)
    own = diagonal(positives)
    # mixture i - 1 has more of sentence i
    mixtures = cosines(left, mix_neighbours(right, weight)).masked_fill(own.roll(-1, dims=1), 0.0)
    anchors = cosines(mix_neighbours(left, weight), right).masked_fill(own.roll(1, dims=1), 0.0)
    return torch.cat([positives, mixtures, anchors], dim=1)


def one_mixture_logits(left: Tensor, right: Tensor, weight: float) -> Tensor:
    """Return cosines (B, B + 1) with positives and one mixture of the unit positive and the next one. (B, D) each."""
    mixture = mix_neighbours(F.normalize(right, dim=-1), weight)
    negative = row_cosines(left, mixture)[:, None]  # (B, 1)
    return torch.cat([cosines(left, right), negative], dim=1)


class MixedInfoNCE(PairLoss):
    """First view against the second of every sentence, and against mixtures of the batch's vectors.

    mix: weight of the positive in its mixture. form: "released" or "paper". Source: Zhang et al. 2022 (MixCSE).
    """

    temperature: Positive = 0.05  # MixCSE release
    mix: Annotated[float, Between(0, 0.5)] = 0.2
    form: Literal["released", "paper"] = "released"

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        if len(left) == 1:  # nothing to mix with
            return info_nce(left, right, self.temperature)
        logits = mixed_logits if self.form == "released" else one_mixture_logits
        return match_loss(logits(left, right, self.mix) / self.temperature)


def rankings(left: Tensor, right: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return both views' log distributions over the batch, (B, B) each: row i of sentence i. left, right: (B, D)."""
    logits = cosines(left, right) / temperature
    return logits.log_softmax(dim=1), logits.T.log_softmax(dim=1)


class JSConsistency(PairLoss):
    """Both views rank the batch alike: mean Jensen-Shannon divergence of their distributions, 0 to log 2 nats.

    Source: Liu et al. 2023 (RankCSE), ranking consistency.
    """

    temperature: Positive = 0.05  # RankCSE, public re-implementation

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        p, q = rankings(left, right, self.temperature)
        middle = torch.logaddexp(p, q) - math.log(2)
        return (p.exp() * (p - middle) + q.exp() * (q - middle)).sum(dim=1).mean() / 2


class NegEntropy(PairLoss):
    """Minus the entropy of both views' distributions over the batch, without consistency of the views.

    Probabilities below 1e-7 count as 1e-7 and get no gradient. Source: what the public re-implementation of RankCSE
    computes where it means the consistency, but for a constant of 1e-7; its mixture of the two distributions is clamped
    to a constant.
    """

    version: ClassVar[int] = 2
    temperature: Positive = 0.05

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        p, q = (log_p.clamp(min=math.log(SMALLEST)) for log_p in rankings(left, right, self.temperature))
        return (p.exp() * p + q.exp() * q).sum(dim=1).mean() / 2
