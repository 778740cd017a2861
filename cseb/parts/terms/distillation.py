"""Distillation from a frozen teacher of the first training stage (RankEncoder, DistillCSE)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.autocast import products
from cseb.encoder.interface import FROZEN
from cseb.errors import BadSpec, between
from cseb.methods.option_types import AtLeast, Between, Positive, Rate
from cseb.parts import ALL, LossInputs, Reads, reads
from cseb.parts.terms.infonce import cosines


def spearman(profiles: Tensor) -> Tensor:
    """Return Spearman's correlation of all pairs of rows: (B, N) to (B, B). Ties are ranked in order.

    Source: Seonwoo et al. 2023 (RankEncoder); authors' code for ties.
    """
    ranks = profiles.argsort(dim=1, stable=True).argsort(dim=1).float()
    ranks = F.normalize(ranks - ranks.mean(dim=1, keepdim=True), dim=1)
    return products(ranks, ranks)


def masked_mse(cosine: Tensor, targets: Tensor, low: float, high: float) -> Tensor:
    """Return the mean squared difference over pairs with target in [low, high]; 0 if there are none. (B, B) both.

    Source: Seonwoo et al. 2023 (RankEncoder); authors' code for the bounds.
    """
    counted = (targets >= low) & (targets <= high)
    return (counted * (cosine - targets).square()).sum() / (counted.sum() + 1e-8)


def evenly_spaced(vectors: Tensor, most: int) -> Tensor:
    """Return evenly spaced rows of these vectors (N, D), `most` of them or all, of length 1."""
    rows = torch.linspace(0, len(vectors) - 1, min(most, len(vectors))).long()
    return F.normalize(vectors[rows], dim=-1)


class RankMSE(nn.Module):
    """Cosines of first and second views match the rank correlation of their similarities to a corpus.

    corpus: how many of the sentences that training draws at most are ranked, by the frozen teacher. low, high:
    bounds of the rank correlation between which a pair counts. Source: Seonwoo et al. 2023 (RankEncoder); authors'
    code.
    """

    preset: ClassVar = {  # RankEncoder release, SimCSE variant
        "weight": 0.05,
        "corpus": 10_000,
        "low": 0.5,
        "high": 0.9999,
    }
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)

    def __init__(self, corpus: Annotated[int, AtLeast(2)], low: Annotated[float, Between(-1, 1)], high: float) -> None:
        super().__init__()
        self.size = corpus
        self.low = low
        self.high = between(low, 1, high, "rank_mse: high")
        self.corpus = torch.zeros(0, 0)

    def precompute_targets(self, frozen: Sequence[Sequence[Tensor]]) -> None:
        """Store the first model's vectors (N, D) of all sentences drawn, or an evenly spaced sample."""
        self.corpus = evenly_spaced(frozen[0][0], self.size)

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar of at least 0."""
        vectors = F.normalize(step.frozen[0][0], dim=-1)
        self.corpus = self.corpus.to(vectors.device, vectors.dtype)
        targets = spearman(products(vectors, self.corpus))
        return masked_mse(cosines(step.views[0].z, step.views[1].z), targets, self.low, self.high)


def shuffled_groups(ordered: Tensor, mass: float, rng: torch.Generator) -> Tensor:
    """Return positions (B, N), shuffled within groups of probability `mass`.

    ordered: (B, N) scores, falling; their softmax is the probability. Source: Xu et al. 2023 (DistillCSE), group-P
    shuffling; authors' code.
    """
    places = torch.arange(ordered.shape[1], device=ordered.device).expand_as(ordered)
    if not mass:
        return places
    last = math.ceil(1 / mass) - 1  # takes what is left, the place at which all probability is used up among it
    groups = (ordered.softmax(dim=1).cumsum(dim=1) / mass).floor().clamp(max=last)
    return (groups + torch.rand(ordered.shape, generator=rng, device=ordered.device)).argsort(dim=1)


def listwise_ce(scores: Tensor, targets: Tensor, cold: float, colder: float) -> Tensor:
    """Return the cross-entropy of both rows' distributions, in nats. scores, targets: (B, N); their temperatures.

    Source: Xu et al. 2023 (DistillCSE); authors' code.
    """
    return -((targets / colder).softmax(dim=1) * (scores / cold).log_softmax(dim=1)).sum(dim=1).mean()


class ListwiseCE(nn.Module):
    """The distribution of the first view's cosines within the batch matches that of the frozen model.

    student, teacher: temperatures. group: probability of the groups within which the teacher's targets are exchanged
    at random, 0 for none. Source: Xu et al. 2023 (DistillCSE); authors' code.
    """

    preset: ClassVar = {"student": 0.025, "teacher": 0.0125, "group": 0.1}  # DistillCSE release
    version: ClassVar[int] = 3
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("z", "frozen", views=1, models=ALL)

    def __init__(self, student: Positive, teacher: Positive, group: Rate) -> None:
        super().__init__()
        self.student = student
        self.teacher = teacher
        self.group = group
        if self.group and self.group < 1e-4:
            raise BadSpec(f"listwise_ce: group is {group!r}; 0 shuffles nothing, else at least 0.0001")

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, 0 for a sentence alone."""
        z = step.views[0].z
        if len(z) == 1:
            return z.sum() * 0
        targets = torch.stack([cosines(views[0], views[0]) for views in step.frozen]).mean(dim=0)
        ordered, order = targets.fill_diagonal_(float("-inf")).sort(dim=1, descending=True)
        ordered, order = ordered[:, :-1], order[:, :-1]  # a sentence itself comes last
        order = order.gather(1, shuffled_groups(ordered, self.group, step.rng))
        return listwise_ce(cosines(z, z).gather(1, order), ordered, self.student, self.teacher)
