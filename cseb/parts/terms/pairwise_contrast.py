"""Contrast by pairs: two-sided over both views (Mirror-BERT), and one logistic score per pair (CT)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.autocast import in_full
from cseb.methods.option_types import Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.infonce import cosines


def nt_xent(left: Tensor, right: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of every vector's partner among all others of both views, over 2 B anchors, in nats.

    left, right: (B, D), any lengths. 1 positive and 2 B - 2 negatives each. Source: Chen et al. 2020 (SimCLR), eq. 1;
    Liu et al. 2021 (Mirror-BERT).
    """
    both = torch.cat([left, right])  # (2 B, D)
    itself = torch.eye(len(both), dtype=torch.bool, device=both.device)
    logits = (cosines(both, both) / temperature).masked_fill(itself, float("-inf"))
    partners = torch.arange(len(both), device=both.device).roll(len(left))
    return F.cross_entropy(logits, partners)


@in_full
def bce_pairs(left: Tensor, right: Tensor, same: Tensor, reduction: str) -> Tensor:
    """Return the logistic loss of dot products, positive where a pair renders one sentence; mean or sum over pairs.

    left, right: (B, D) as they are. same: (B,) bool. In float32 or better: dot products of means are of order 100.
    Source: Carlsson et al. 2021 (CT).
    """
    scores = (left * right).sum(dim=-1)
    return F.binary_cross_entropy_with_logits(scores, same.to(scores.dtype), reduction=reduction)


class NTXent(nn.Module):
    """Both views against all other vectors of the batch, in both directions.

    Source: Liu et al. 2021 (Mirror-BERT).
    """

    preset: ClassVar = {"temperature": 0.04}  # Mirror-BERT, sentences
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(self, temperature: Positive) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        return nt_xent(step.views[0].z, step.views[1].z, self.temperature)


class BCEPairs(nn.Module):
    """Logistic loss of each pair by itself.

    reduction: "mean" (released) or "sum" (sentence-transformers). Source: Carlsson et al. 2021 (CT).
    """

    preset: ClassVar = {"reduction": "mean"}  # CT release
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(self, reduction: Literal["mean", "sum"]) -> None:
        super().__init__()
        self.reduction = reduction

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        left, right = step.views[0].z, step.views[1].z
        same = torch.ones(len(left), device=left.device) if step.same is None else step.same
        return bce_pairs(left, right, same, self.reduction)
