"""Margins of similarity: between positives and negatives, or between edits (ArcCSE, SNCSE, PromCSE)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.errors import BadSpec
from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm, PairLoss
from cseb.parts.terms.infonce import cosines, diagonal, match_loss

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
        first, second = (F.cosine_similarity(step.views[0].z, edit.z, dim=-1) for edit in step.edits[:2])
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
        positive, negative = (F.cosine_similarity(anchors, view.z, dim=-1) for view in (step.views[1], step.edits[0]))
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
