"""Contrastive and attracting terms: InfoNCE and its variants."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.device_batches import in_full
from cseb.methods.option_types import Positive
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import LossTerm, PairLoss


@in_full
def cosines(left: Tensor, right: Tensor) -> Tensor:
    """Return all cosines of rows: (B, D) and (N, D) to (B, N)."""
    return F.normalize(left, dim=-1) @ F.normalize(right, dim=-1).T


@in_full
def row_cosines(left: Tensor, right: Tensor) -> Tensor:
    """Return the cosine of each row with the same row of the other: (..., D) both to (...)."""
    return F.cosine_similarity(left, right, dim=-1)


def diagonal(matrix: Tensor) -> Tensor:
    """Return a mask of the shape of a matrix, True on its diagonal."""
    return torch.eye(*matrix.shape, dtype=torch.bool, device=matrix.device)


def off_diagonal(matrix: Tensor) -> Tensor:
    """Return (B, B, ...) without its diagonal: (B, B - 1, ...). Unlike a boolean index, it needs no wait for a GPU."""
    size, rest = len(matrix), matrix.shape[2:]
    return matrix.flatten(0, 1)[1:].view(size - 1, size + 1, *rest)[:, :-1].reshape(size, size - 1, *rest)


def match_loss(logits: Tensor) -> Tensor:
    """Return the cross-entropy of column i in row i of logits (B, N), N >= B, averaged over rows, in nats."""
    return F.cross_entropy(logits, torch.arange(len(logits), device=logits.device))


def info_nce(
    anchors: Tensor, candidates: Tensor, temperature: float, allowed: Tensor | None = None, bias: Tensor | None = None
) -> Tensor:
    """Return the cross-entropy of candidate i as the match of anchor i, averaged over anchors, in nats.

    anchors: (B, D). candidates: (N, D), N >= B; rows 0 to B-1 are the positives. Rows may have any length, only their
    angles count. allowed: (B, N - B), False takes one of the further candidates out for one anchor. bias: (B, N), added
    to cosines over temperature. Source: Gao et al. 2021, eq. 1 and 5; Klein & Nabi 2023, section 3.1, for the queue.
    """
    logits = cosines(anchors, candidates) / temperature  # (B, N)
    if bias is not None:
        logits = logits + bias
    if allowed is not None:
        batch = len(anchors)
        logits = torch.cat([logits[:, :batch], logits[:, batch:].masked_fill(~allowed, float("-inf"))], dim=1)
    return match_loss(logits)


def info_nce_zeroed(anchors: Tensor, positives: Tensor, temperature: float) -> Tensor:
    """Return the mean of log(1 + (B - 1) exp(-cos_ii / temperature)): negatives' logits are 0, not removed.

    Source: the switch "without negatives" of miCSE's code (Klein & Nabi 2023, table 4).
    """
    return match_loss(torch.diag(row_cosines(anchors, positives) / temperature))


def info_nce_literal(anchors: Tensor, positives: Tensor, queue: Tensor, temperature: float, allowed: Tensor) -> Tensor:
    """Return eq. 2 of Klein & Nabi 2023: summed over anchors, the positive not in the denominator.

    anchors, positives: (B, D); in-batch negatives are the other anchors. queue: (K, D), K may be 0; allowed: (B, K).
    """
    positive = row_cosines(anchors, positives) / temperature  # (B,)
    among = cosines(anchors, anchors) / temperature
    among = among.masked_fill(diagonal(among), float("-inf"))
    queued = (cosines(anchors, queue) / temperature).masked_fill(~allowed, float("-inf"))
    return (torch.cat([among, queued], dim=1).logsumexp(dim=1) - positive).sum()


def hard_negative_bias(batch: int, further: int, weight: float, like: Tensor) -> Tensor:
    """Return (B, 2 B + further): log weight for an anchor's own hard negative, columns B to 2 B - 1; else 0."""
    bias = torch.zeros(batch, 2 * batch + further, dtype=like.dtype, device=like.device)
    bias[:, batch : 2 * batch].fill_diagonal_(math.log(weight))
    return bias


class EachNCE(LossTerm):
    """First view against every further view, one contrast for each, summed.

    Source: Zhuo et al. 2023 (WhitenedCSE), several positives; Gao et al. 2021, eq. 1, for each.
    """

    reads: ClassVar[Reads] = reads("z", views=ALL)
    temperature: Positive = 0.05  # WhitenedCSE release

    def forward(self, step: LossInputs) -> Tensor:
        anchors, *positives = (view.z for view in step.views)
        return torch.stack([info_nce(anchors, positive, self.temperature) for positive in positives]).sum()


class InfoNCE(LossTerm):
    """First view against the second of every sentence, with hard negatives (third view) and the queue, if any.

    hard_weight: how much more than other candidates an anchor's own hard negative counts in the denominator.
    negatives: "batch", or "zeroed" (positives only, as miCSE's release does it). form: "released", or "literal" (eq. 2
    of miCSE as printed); both know of no hard negatives. Source: Gao et al. 2021, eq. 1 and 5; hard negatives and
    queued vectors are further columns of the denominator.
    """

    temperature: Positive = 0.05  # SimCSE
    negatives: Literal["batch", "zeroed"] = "batch"
    form: Literal["released", "literal"] = "released"
    hard_weight: Positive = 1.0

    def __post_init__(self) -> None:
        queued = () if self.negatives == "zeroed" else ("queue",)
        self.reads = reads("z", *queued, views=3 if self.negatives == "batch" and self.form == "released" else 2)

    def forward(self, step: LossInputs) -> Tensor:
        anchors, positives, *hard = (view.z for view in step.views)
        if self.negatives == "zeroed":
            return info_nce_zeroed(anchors, positives, self.temperature)
        keys, allowed = anchors[:0], torch.ones(len(anchors), 0, dtype=torch.bool, device=anchors.device)
        if step.queue is not None:
            keys, allowed = step.queue.keys, step.queue.allowed
        if self.form == "literal":
            return info_nce_literal(anchors, positives, keys, self.temperature, allowed)
        bias = None
        if hard:
            bias = hard_negative_bias(len(anchors), len(keys), self.hard_weight, anchors)
            allowed = F.pad(allowed, (len(anchors), 0), value=True)
        return info_nce(anchors, torch.cat([positives, *hard[:1], keys]), self.temperature, allowed, bias)


class Alignment(PairLoss):
    """Mean of 1 - cosine of the two views: attraction alone.

    Source: Wang & Isola 2020, section 4.1, up to the factor 2.
    """

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        return (1 - row_cosines(left, right)).mean()


@in_full
def squared_distance(left: Tensor, right: Tensor, form: str) -> Tensor:
    """Return the distance of a sentence's views, averaged over the batch. left, right: (B, D).

    raw: |l - r|^2 of the vectors as they are (eq. 8). unit: the same of unit vectors, 2 (1 - cos). released: 2 / D
    times unit, which two mean-squared errors of unit vectors add up to. Source: InforMin-CL, eq. 8; authors' code.
    """
    if form == "raw":
        return (left - right).square().sum(dim=-1).mean()
    unit = 2 * (1 - row_cosines(left, right)).mean()
    return unit if form == "unit" else unit * 2 / left.shape[-1]


class Reconstruction(PairLoss):
    """Squared distance of the two views after the head.

    form: "released", "unit" or "raw" (see squared_distance); a weight means something only together with it.
    Source: Chen et al. 2022 (InforMin-CL), eq. 8; authors' code for the reduction.
    """

    preset: ClassVar = {"weight": 0.4}  # InforMin-CL, table 3, BERT-base
    form: Literal["released", "unit", "raw"] = "released"

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        return squared_distance(left, right, self.form)
