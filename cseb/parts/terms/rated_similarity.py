"""Pairs with similarity ratings: by rank (CoSENT, AnglE), or by the rating itself."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.errors import BadSpec
from cseb.methods.option_types import Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm


def angle_scores(left: Tensor, right: Tensor) -> Tensor:
    """Return the similarity of rows by angle difference in complex space: (B, D) both, D even, to (B,), at least 0.

    The first half of each vector is the real part. It is |cosine + a|, where a changes sign when left and right
    change places: so it is not symmetric, and opposed vectors can score high. Source: Li & Li 2024 (AnglE), the form
    of sentence-transformers' code.
    """
    a, b = left.chunk(2, dim=-1)
    c, d = right.chunk(2, dim=-1)
    real, imaginary = (a * c + b * d).sum(dim=-1), (b * c - a * d).sum(dim=-1)
    scores: Tensor = (real + imaginary) / (left.norm(dim=-1) * right.norm(dim=-1))
    return scores.abs()


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
            return F.cosine_similarity(left, right, dim=-1)
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
        cosine = F.cosine_similarity(step.views[0].z, step.views[1].z, dim=-1)
        return (cosine - (step.scores - self.lowest) / (self.highest - self.lowest)).square().mean()
