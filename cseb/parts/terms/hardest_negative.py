"""A hinge on the hardest negative of every anchor (the energy-based term of PromCSE)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
from torch import Tensor, nn

from cseb.methods.option_types import Between
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.infonce import cosines


def hardest_hinge(anchors: Tensor, positives: Tensor, negatives: Tensor, margin: float) -> Tensor:
    """Return the mean hinge of the positive's lead of `margin` over the hardest negative. (B, D) each.

    Negatives are the other positives of the batch and all hard negatives. Source: Jiang et al. 2022 (PromCSE), the
    energy-based hinge; authors' code.
    """
    similarities = cosines(anchors, positives)  # (B, B)
    own = similarities.diagonal()
    others = similarities.masked_fill(torch.eye(len(similarities), dtype=torch.bool, device=similarities.device), -1.0)
    hardest = torch.cat([others, cosines(anchors, negatives)], dim=1).amax(dim=1)
    return (margin - (own - hardest)).clamp(min=0).mean()


class HardestHinge(nn.Module):
    """The positive is more similar than the hardest negative, by `margin` of cosine.

    Source: Jiang et al. 2022 (PromCSE), energy-based hinge; authors' code.
    """

    preset: ClassVar = {"weight": 10.0, "margin": 0.2}  # PromCSE release, RoBERTa-large
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 3
    reads: ClassVar[Reads] = reads("z", views=3)

    def __init__(self, margin: Annotated[float, Between(0, 2)]) -> None:
        super().__init__()
        self.margin = margin

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0."""
        anchors, positives, negatives = (view.z for view in step.views[:3])
        return hardest_hinge(anchors, positives, negatives, self.margin)
