"""A contrast whose positive is smoothed by its neighbours among the latest sentences (IS-CSE)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.errors import BadSpec, above, one_of, whole
from cseb.parts import Step
from cseb.parts.memory import push
from cseb.parts.terms.contrast import info_nce
from cseb.precision import in_full, products

if TYPE_CHECKING:
    from cseb.encoder import Encoder


@in_full
def smoothed(vectors: Tensor, neighbours: Tensor, allowed: Tensor, temperature: float) -> Tensor:
    """Every vector averaged with its neighbours, weights softmax(v_i . n / temperature), itself among them.

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
    nearest one alone, which then is the vector just stored. Source: He et al. 2023 (IS-CSE); released code.
    """

    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2

    def __init__(self, size: int, neighbours: int, attention: float, temperature: float, exclude_same: bool) -> None:
        super().__init__()
        self.size = whole(2, size, "smooth: size")
        self.neighbours = whole(1, neighbours, "smooth: neighbours")
        self.attention = above(0, attention, "smooth: attention")
        self.temperature = above(0, temperature, "smooth: temperature")
        self.exclude_same = one_of((True, False), exclude_same, "smooth: exclude_same")
        if neighbours >= size:
            raise BadSpec(f"smooth: neighbours is {neighbours} of size {size}; it must be below")
        self.keys: Tensor | None = None
        self.sids: Tensor | None = None

    def found(self, encoder: Encoder) -> None:
        """Begin with nothing in memory."""
        self.keys = self.sids = None

    def forward(self, step: Step) -> Tensor:
        """Return a scalar in nats, 0 until the memory is full."""
        assert step.sids is not None
        queries = F.normalize(step.views[1].z, dim=-1)
        new = queries.detach()
        self.keys = new[: self.size] if self.keys is None else push(self.keys, new, self.size)
        self.sids = step.sids[: self.size] if self.sids is None else push(self.sids, step.sids, self.size)
        if len(self.keys) < self.size:
            return queries.sum() * 0
        nearness = products(new, self.keys)  # (B, size)
        if self.exclude_same:
            nearness = nearness.masked_fill(step.sids[:, None] == self.sids, float("-inf"))
        skipped = 0 if self.exclude_same else 1
        values, places = nearness.topk(self.neighbours + skipped, dim=1)
        neighbours = self.keys[places[:, skipped:]]  # (B, k, D)
        positives = smoothed(queries, neighbours, values[:, skipped:].isfinite(), self.attention)
        return info_nce(step.views[0].z, positives, self.temperature)
