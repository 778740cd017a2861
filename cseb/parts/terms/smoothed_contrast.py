"""A contrast whose positive is smoothed by its nearest neighbours among recent sentences (IS-CSE)."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.autocast import in_full, products
from cseb.encoder.encoder import Encoder
from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Count, Positive
from cseb.parts import LossInputs, Reads, reads
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


class Smooth(nn.Module):
    """Anchors against positives that are averaged with their nearest of the last `size` positives.

    Starts once that many are held. neighbours: how many. attention: temperature of the average, temperature: of the
    contrast. exclude_same: earlier vectors of the same sentence are no neighbours; False, as released, leaves out the
    nearest one alone, which then is the vector just stored. Source: He et al. 2023 (IS-CSE); authors' code.
    """

    preset: ClassVar = {  # IS-CSE release, base models
        "weight": 0.1,
        "size": 1024,
        "neighbours": 16,
        "attention": 2.0,
        "temperature": 0.05,
        "exclude_same": False,
    }
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(
        self,
        size: Annotated[int, AtLeast(2)],
        neighbours: Count,
        attention: Positive,
        temperature: Positive,
        exclude_same: bool,
    ) -> None:
        super().__init__()
        self.size = size
        self.neighbours = neighbours
        self.attention = attention
        self.temperature = temperature
        self.exclude_same = exclude_same
        if neighbours >= size:
            raise BadSpec(f"smooth: neighbours is {neighbours} of size {size}; it must be below")
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
        self.keys = new[: self.size] if self.keys is None else push(self.keys, new, self.size)
        self.sids = step.sids[: self.size] if self.sids is None else push(self.sids, step.sids, self.size)
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
