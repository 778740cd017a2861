"""A contrast whose positive is smoothed by its nearest neighbours among recent sentences (IS-CSE)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.autocast import in_full, products
from cseb.encoder.encoder import Encoder
from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Count, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm
from cseb.parts.momentum_queue import push
from cseb.parts.terms.infonce import info_nce


@in_full
def smoothed(vectors: Tensor, neighbours: Tensor, allowed: Tensor, temperature: float) -> Tensor:
    """Return every vector averaged with its neighbours and itself, weights softmax(v_i . n / temperature).

    vectors: (B, D). neighbours: (B, k, D). allowed: (B, k), False leaves one out. Source: He et al. 2023 (IS-CSE).
    """
    group = torch.cat([vectors[:, None], neighbours], dim=1)  # (B, k + 1, D)
    scores = (group @ vectors[:, :, None]).squeeze(-1) / temperature
    weights = scores.masked_fill(~F.pad(allowed, (1, 0), value=True), float("-inf")).softmax(dim=1)
    return (weights[:, :, None] * group).sum(dim=1)


class Smooth(LossTerm):
    """Anchors against positives that are averaged with their nearest of the last `size` positives.

    It starts once that many are stored. attention: temperature of the average; temperature: of the contrast.
    exclude_same: earlier vectors of the same sentence are no neighbours; False, as released, leaves out the nearest one
    alone, which then is the vector just stored. Source: He et al. 2023 (IS-CSE); authors' code.
    """

    preset: ClassVar = {"weight": 0.1}  # IS-CSE release, base models
    reads: ClassVar[Reads] = reads("z", views=2)
    size: Annotated[int, AtLeast(2)] = 1024
    neighbours: Count = 16
    attention: Positive = 2.0
    temperature: Positive = 0.05
    exclude_same: bool = False

    def __post_init__(self) -> None:
        if self.neighbours >= self.size:
            raise BadSpec(f"smooth: neighbours is {self.neighbours} of size {self.size}; it must be below")
        self.keys: Tensor | None = None
        self.sids: Tensor | None = None

    def setup(self, encoder: Encoder) -> None:
        """Empty the memory."""
        self.keys = self.sids = None

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, 0 until the memory is full."""
        assert step.sids is not None
        queries = F.normalize(step.views[1].z, dim=-1)
        new = queries.detach()
        self.keys, self.sids = push(self.keys, new, self.size), push(self.sids, step.sids, self.size)
        if len(self.keys) < self.size:
            return queries.sum() * 0
        similarity = products(new, self.keys)  # (B, size)
        if self.exclude_same:
            similarity = similarity.masked_fill(step.sids[:, None] == self.sids, float("-inf"))
        skipped = 0 if self.exclude_same else 1
        values, places = similarity.topk(self.neighbours + skipped, dim=1)
        neighbours = self.keys[places[:, skipped:]]  # (B, k, D)
        positives = smoothed(queries, neighbours, values[:, skipped:].isfinite(), self.attention)
        return info_nce(step.views[0].z, positives, self.temperature)
