"""A two-sided margin between the similarities of a negation and of the positive (SNCSE)."""

from __future__ import annotations

from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor, nn

from cseb.errors import BadSpec
from cseb.parts import LossInputs, Reads, reads


def bidir_margin(positive: Tensor, negative: Tensor, least: float, most: float) -> Tensor:
    """Return the mean distance of `negative` - `positive` from [-most, -least]. positive, negative: (B,) cosines.

    Source: Wang et al. 2022 (SNCSE), bidirectional margin loss.
    """
    difference = negative - positive
    return ((difference + least).clamp(min=0) + (-difference - most).clamp(min=0)).mean()


class BidirMargin(nn.Module):
    """A sentence's first edit is less similar to it than its second view, by `least` to `most` of cosine.

    Source: Wang et al. 2022 (SNCSE), bidirectional margin loss. Raises: BadSpec if `least` is not below `most`.
    """

    preset: ClassVar = {"weight": 1e-3, "least": 0.1, "most": 0.3}  # SNCSE release, BERT-base
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    edits: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", views=2, edits=1)

    def __init__(self, least: float, most: float) -> None:
        super().__init__()
        self.least, self.most = least, most
        if least >= most:
            raise BadSpec(f"bidir_margin: least is {least}, most is {most}; least must be below most")

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0."""
        anchors = step.views[0].z
        positive, negative = (F.cosine_similarity(anchors, view.z, dim=-1) for view in (step.views[1], step.edits[0]))
        return bidir_margin(positive, negative, self.least, self.most)
