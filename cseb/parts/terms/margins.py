"""Losses with a margin, and losses of rated pairs."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from cseb.encoder.device_batches import in_full
from cseb.errors import BadSpec
from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm, PairLoss
from cseb.parts.terms.infonce import cosines, diagonal, match_loss, row_cosines

SLACK = 1e-7  # under the root, whose slope is infinite where the angle is 0


def add_margin(cosine: Tensor, margin: float) -> Tensor:
    """Return cos(theta + margin), margin in radians; where the angle would pass pi, cos theta - margin sin margin.

    Source: Zhang et al. 2022 (ArcCSE); Deng et al. 2019 (ArcFace) for the far side.
    """
    sine = (1 - cosine.square()).clamp(min=0) + SLACK
    wide = cosine * math.cos(margin) - sine.sqrt() * math.sin(margin)
    return torch.where(cosine > math.cos(math.pi - margin), wide, cosine - margin * math.sin(margin))


class ArcNCE(PairLoss):
    """InfoNCE of the two views with a margin added to the positive's angle, in nats.

    margin: in degrees. Source: Zhang et al. 2022 (ArcCSE), ArcCon.
    """

    temperature: Positive = 0.05  # ArcCSE; the temperature is SimCSE's
    margin: Annotated[float, Between(0, 90)] = 10.0

    def loss(self, left: Tensor, right: Tensor) -> Tensor:
        matrix = cosines(left, right)
        widened = torch.where(diagonal(matrix), add_margin(matrix, math.radians(self.margin)), matrix)
        return match_loss(widened / self.temperature)


class Triplet(LossTerm):
    """A sentence is more similar to its first edit than to its second, by at least `margin` of cosine.

    Source: Zhang et al. 2022 (ArcCSE), triple-wise term.
    """

    preset: ClassVar = {"weight": 0.1}  # ours
    views: ClassVar[int] = 1
    edits: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=1, edits=2)
    margin: float = 0.0

    def forward(self, step: LossInputs) -> Tensor:
        first, second = (row_cosines(step.views[0].z, edit.z) for edit in step.edits[:2])
        return (second - first + self.margin).clamp(min=0).mean()


def bidir_margin(positive: Tensor, negative: Tensor, least: float, most: float) -> Tensor:
    """Return the mean distance of `negative` - `positive` from [-most, -least]. positive, negative: (B,) cosines."""
    difference = negative - positive
    return ((difference + least).clamp(min=0) + (-difference - most).clamp(min=0)).mean()


class BidirMargin(LossTerm):
    """A sentence's first edit is less similar to it than its second view, by `least` to `most` of cosine.

    Source: Wang et al. 2022 (SNCSE), bidirectional margin loss. Raises: BadSpec if `least` is not below `most`.
    """

    preset: ClassVar = {"weight": 1e-3}  # SNCSE release, BERT-base
    edits: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", views=2, edits=1)

    def __init__(self, least: float = 0.1, most: float = 0.3) -> None:
        self.least, self.most = least, most
        if least >= most:
            raise BadSpec(f"bidir_margin: least is {least}, most is {most}; least must be below most")

    def forward(self, step: LossInputs) -> Tensor:
        anchors = step.views[0].z
        positive, negative = (row_cosines(anchors, view.z) for view in (step.views[1], step.edits[0]))
        return bidir_margin(positive, negative, self.least, self.most)


def hardest_hinge(anchors: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Return the mean hinge of the positive's lead of `margin` over the hardest negative. (B, D) each.

    Negatives are the other positives of the batch and all hard negatives.
    """
    similarities = cosines(anchors, positives)  # (B, B)
    others = similarities.masked_fill(diagonal(similarities), -1.0)
    hardest = torch.cat([others, cosines(anchors, negatives)], dim=1).amax(dim=1)
    return (margin - (similarities.diagonal() - hardest)).clamp(min=0).mean()


class HardestHinge(LossTerm):
    """The positive is more similar than the hardest negative, by `margin` of cosine.

    Source: Jiang et al. 2022 (PromCSE), energy-based hinge; authors' code.
    """

    preset: ClassVar = {"weight": 10.0}  # PromCSE release, RoBERTa-large
    views: ClassVar[int] = 3
    reads: ClassVar[Reads] = reads("z", views=3)
    margin: Annotated[float, Between(0, 2)] = 0.2

    def forward(self, step: LossInputs) -> Tensor:
        anchors, positives, negatives = (view.z for view in step.views[:3])
        return hardest_hinge(anchors, positives, negatives, self.margin)


@in_full
def angle_scores(left: Tensor, right: Tensor) -> Tensor:
    """Return the similarity of rows by angle difference in complex space: (B, D) both, D even, to (B,), at least 0.

    The first half of each vector is the real part. It is |cosine + a|, where a changes sign when left and right
    change places: so it is not symmetric, and opposed vectors can score high. That of a zero vector is 0, as its
    cosine. Source: Li & Li 2024 (AnglE), the form of sentence-transformers' code.
    """
    a, b = left.chunk(2, dim=-1)
    c, d = right.chunk(2, dim=-1)
    real, imaginary = (a * c + b * d).sum(dim=-1), (b * c - a * d).sum(dim=-1)
    lengths: Tensor = left.norm(dim=-1) * right.norm(dim=-1)
    return (real + imaginary).abs() / lengths.masked_fill(lengths == 0, 1.0)


def rank_cost(scores: Tensor, ratings: Tensor, scale: float) -> Tensor:
    """Return log(1 + sum of exp(scale (s_i - s_j)) over pairs with rating i < rating j). scores, ratings: (B,).

    Equal ratings give no summand. Source: Huang et al. 2024 (CoSENT).
    """
    gaps = scale * (scores[:, None] - scores[None])  # (B, B)
    wrong = gaps[ratings[:, None] < ratings[None]]
    return torch.cat([gaps.new_zeros(1), wrong]).logsumexp(dim=0)


class RankScores(LossTerm):
    """Pairs with higher ratings get higher similarity: every two pairs of a batch are compared.

    scale: factor of similarities. similarity: "cosine" (CoSENT), "angle" (AnglE, see `angle_scores`), or
    "symmetric_angle", its mean over both orders. One logarithm over the whole batch, so that its size grows with that.
    Source: Huang et al. 2024 (CoSENT); Li & Li 2024 (AnglE), its third summand alone; the symmetric form is ours.
    """

    ratings: ClassVar[bool] = True
    reads: ClassVar[Reads] = reads("z", views=2)
    scale: Positive = 20.0  # sentence-transformers
    similarity: Literal["cosine", "angle", "symmetric_angle"] = "cosine"

    def forward(self, step: LossInputs) -> Tensor:
        left, right = step.views[0].z, step.views[1].z
        assert step.scores is not None
        return rank_cost(self.pair_scores(left, right), step.scores, self.scale)

    def pair_scores(self, left: Tensor, right: Tensor) -> Tensor:
        """Return the similarity (B,) of pairs of rows (B, D)."""
        if self.similarity == "cosine":
            return row_cosines(left, right)
        if self.similarity == "angle":
            return angle_scores(left, right)
        return (angle_scores(left, right) + angle_scores(right, left)) / 2


class ScoreMSE(LossTerm):
    """Mean squared difference of cosine and rating.

    lowest, highest: ratings of a cosine of 0 and of 1. Source: Reimers & Gurevych 2019, regression
    objective; cosine and rating over 5 as in sentence-transformers' code (CosineSimilarityLoss).
    """

    ratings: ClassVar[bool] = True
    reads: ClassVar[Reads] = reads("z", views=2)
    lowest: float = 0.0  # STS-B
    highest: float = 5.0

    def __post_init__(self) -> None:
        if self.highest <= self.lowest:
            raise BadSpec(f"score_mse: highest is {self.highest}, lowest {self.lowest}; highest must be above lowest")

    def forward(self, step: LossInputs) -> Tensor:
        assert step.scores is not None
        cosine = row_cosines(step.views[0].z, step.views[1].z)
        return (cosine - (step.scores - self.lowest) / (self.highest - self.lowest)).square().mean()
