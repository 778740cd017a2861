"""Terms on the ranking of the sentences of a batch by each view (RankCSE)."""

from __future__ import annotations

import math
from typing import ClassVar

import torch
from torch import Tensor, nn

from cseb.methods.option_types import Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.infonce import cosines

LEAST = 1e-7  # of a probability. Source: public re-implementation of RankCSE


def rankings(left: Tensor, right: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    """Return both views' log distributions over the batch, (B, B) each: row i of sentence i. left, right: (B, D)."""
    logits = cosines(left, right) / temperature
    return logits.log_softmax(dim=1), logits.T.log_softmax(dim=1)


def js_consistency(left: Tensor, right: Tensor, temperature: float) -> Tensor:
    """Return the mean Jensen-Shannon divergence of both views' distributions, in nats: 0 to log 2.

    Source: Liu et al. 2023 (RankCSE), ranking consistency.
    """
    p, q = rankings(left, right, temperature)
    middle = torch.logaddexp(p, q) - math.log(2)
    return (p.exp() * (p - middle) + q.exp() * (q - middle)).sum(dim=1).mean() / 2


def neg_entropy(left: Tensor, right: Tensor, temperature: float) -> Tensor:
    """Return minus the entropy of both views' distributions, averaged over views and sentences, in nats.

    Probabilities below 1e-7 count as 1e-7 and get no gradient. Source: what the public re-implementation of RankCSE
    computes where it means js_consistency, but for a constant of 1e-7.
    """
    p, q = (logarithms.clamp(min=math.log(LEAST)) for logarithms in rankings(left, right, temperature))
    return (p.exp() * p + q.exp() * q).sum(dim=1).mean() / 2


class JSConsistency(nn.Module):
    """Both views rank the batch alike.

    Source: Liu et al. 2023 (RankCSE), ranking consistency.
    """

    preset: ClassVar = {"temperature": 0.05}  # RankCSE, public re-implementation
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(self, temperature: Positive) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, at least 0."""
        return js_consistency(step.views[0].z, step.views[1].z, self.temperature)


class NegEntropy(nn.Module):
    """Negative entropy of the distributions over the batch, without consistency of the views.

    Source: public re-implementation of RankCSE, whose mixture of the two distributions is clamped to a constant.
    """

    preset: ClassVar = {"temperature": 0.05}
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(self, temperature: Positive) -> None:
        super().__init__()
        self.temperature = temperature

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, at most 0."""
        return neg_entropy(step.views[0].z, step.views[1].z, self.temperature)
