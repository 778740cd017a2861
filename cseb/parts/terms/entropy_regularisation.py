"""RCL: entropy of the contrast as a term, and frozen models as further positives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.methods.option_types import Positive
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.base import LossTerm, TeacherTerm
from cseb.parts.terms.infonce import cosines, diagonal, info_nce


def entropy(anchors: Tensor, candidates: Tensor, temperature: float, all_columns: bool) -> Tensor:
    """Return the mean over anchors of -sum_j p_ij log p_ij, p the softmax over all candidates, in nats.

    anchors: (B, D). candidates: (N, D), N >= B; row i is the positive of anchor i and, without all_columns, no summand.
    Gradient flows through both factors.
    """
    logarithms = F.log_softmax(cosines(anchors, candidates) / temperature, dim=1)  # (B, N)
    summands = logarithms.exp() * logarithms
    if not all_columns:
        summands = summands * (~diagonal(summands)).to(summands.dtype)
    return -summands.sum(dim=1).mean()


def regulation(views: Sequence[Tensor], frozen: Sequence[Sequence[Tensor]], temperature: float) -> Tensor:
    """Return InfoNCE of views against frozen vectors, summed over models and views, in nats.

    views: anchors and positives (B, D). frozen: for every model the same two, constants.
    """
    costs = [
        info_nce(z, constant, temperature) for model in frozen for z, constant in zip(views, model[:2], strict=True)
    ]
    return torch.stack(costs).sum()


class Entropy(LossTerm):
    """Entropy of an anchor's distribution over positives and hard negatives; its weight is the paper's phi.

    A weight above 0 makes models more certain, below 0 less. all_columns: also the positive's own summand, the other
    reading of eq. 2. Source: Tan et al. 2022, eq. 2.
    """

    preset: ClassVar = {"weight": 0.01}  # RCL, eq. 2; the weight is its phi
    reads: ClassVar[Reads] = reads("z", views=ALL)
    temperature: Positive = 0.05
    all_columns: bool = False

    def forward(self, step: LossInputs) -> Tensor:
        anchors, *candidates = (view.z for view in step.views)
        return entropy(anchors, torch.cat(candidates), self.temperature, self.all_columns)


class Regulators(TeacherTerm):
    """Anchors and positives against their own vectors from the frozen models of the first training stage.

    average: divide by the number of models; the paper sums. Source: Tan et al. 2022, eq. 3.
    """

    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=ALL)
    same_width: ClassVar[bool] = True
    temperature: Positive = 0.05  # RCL, eq. 3
    average: bool = False

    def forward(self, step: LossInputs) -> Tensor:
        total = regulation([view.z for view in step.views[:2]], step.frozen, self.temperature)
        return total / len(step.frozen) if self.average else total
