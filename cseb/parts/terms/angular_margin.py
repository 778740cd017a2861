"""Contrast with an angular margin on the positive, and triplets of more and less masked sentences (ArcCSE)."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.infonce import cosines

SLACK = 1e-7  # under the root: its slope is infinite where the angle is 0


def add_margin(cosine: Tensor, margin: float) -> Tensor:
    """Return cos(theta + margin), margin in radians; where the angle would pass pi, cos theta - margin sin margin.

    Source: Zhang et al. 2022 (ArcCSE); Deng et al. 2019 (ArcFace) for the far side.
    """
    sine = (1 - cosine.square()).clamp(min=0) + SLACK
    wide = cosine * math.cos(margin) - sine.sqrt() * math.sin(margin)
    return torch.where(cosine > math.cos(math.pi - margin), wide, cosine - margin * math.sin(margin))


def arc_nce(left: Tensor, right: Tensor, temperature: float, margin: float) -> Tensor:
    """Return InfoNCE whose positive is `margin` radians further away, in nats. left, right: (B, D).

    Source: Zhang et al. 2022 (ArcCSE), ArcCon.
    """
    matrix = cosines(left, right)
    own = torch.eye(len(matrix), dtype=torch.bool, device=matrix.device)
    logits = torch.where(own, add_margin(matrix, margin), matrix) / temperature
    return F.cross_entropy(logits, torch.arange(len(logits), device=logits.device))


class ArcNCE(nn.Module):
    """First view against the second of every sentence, with a margin added to the positive's angle.

    margin: in degrees. Source: Zhang et al. 2022 (ArcCSE), ArcCon.
    """

    preset: ClassVar = {"temperature": 0.05, "margin": 10.0}  # ArcCSE; the temperature is SimCSE's
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(self, temperature: Positive, margin: Annotated[float, Between(0, 90)]) -> None:
        super().__init__()
        self.temperature = temperature
        self.margin = math.radians(margin)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        return arc_nce(step.views[0].z, step.views[1].z, self.temperature, self.margin)


class Triplet(nn.Module):
    """A sentence is more similar to its first edit than to its second, by at least `margin` of cosine.

    Source: Zhang et al. 2022 (ArcCSE), triple-wise term.
    """

    preset: ClassVar = {"weight": 0.1, "margin": 0.0}  # ours
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 1
    edits: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=1, edits=2)

    def __init__(self, margin: float) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0."""
        first, second = (F.cosine_similarity(step.views[0].z, edit.z, dim=-1) for edit in step.edits[:2])
        return (second - first + self.margin).clamp(min=0).mean()
