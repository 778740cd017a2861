"""Contrasts with a memory of their own: smoothed positives (IS-CSE), and a momentum copy with a queue (MoCoSE)."""

from __future__ import annotations

import copy
import math
from dataclasses import KW_ONLY
from typing import Annotated, Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.device_batches import in_full, products
from cseb.encoder.encoder import Encoder
from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Count, Positive, Rate, Size
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm
from cseb.parts.heads import new_linear
from cseb.parts.networks import momentum_update, push
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
        keys, sids = push(self.keys, new, self.size), push(self.sids, step.sids, self.size)
        if torch.is_grad_enabled():  # else held-out sentences would stay in the memory
            self.keys, self.sids = keys, sids
        if len(keys) < self.size:
            return queries.sum() * 0
        similarity = products(new, keys)  # (B, size)
        if self.exclude_same:
            similarity = similarity.masked_fill(step.sids[:, None] == sids, float("-inf"))
        skipped = 0 if self.exclude_same else 1
        values, places = similarity.topk(self.neighbours + skipped, dim=1)
        neighbours = keys[places[:, skipped:]]  # (B, k, D)
        positives = smoothed(queries, neighbours, values[:, skipped:].isfinite(), self.attention)
        return info_nce(step.views[0].z, positives, self.temperature)


SMALLEST = 1e-12  # added to the variance in layer normalisation, as BERT's configuration has it


def cosine_momentum(start: float, done: int, steps: int) -> float:
    """Return the momentum after `done` of `steps` updates: from `start` to 1 along half a cosine.

    Source: Grill et al. 2020 (BYOL); Cao et al. 2022 (MoCoSE).
    """
    return 1 - (1 - start) * (math.cos(math.pi * min(done / steps, 1.0)) + 1) / 2


class MomentumNCE(EncoderPart, LossTerm):
    """The first view, through three small networks, against a momentum copy's vectors of the batch and of a queue.

    Online: the encoder, a dense layer that starts as BERT's pooler where there is one, a projection, a predictor. The
    copy has all but the predictor, follows with a momentum that rises from `momentum` to 1 over the run, with dropout,
    and gets no gradient. size: of the queue, which begins with `start` random vectors; a sentence is not compared with
    its own old key. dropout: of projection and predictor. Source: Cao et al. 2022 (MoCoSE); authors' code.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "momentum copy"
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("h", views=1, tokens=1)
    temperature: Positive = 0.05  # MoCoSE, poster and release
    size: Count = 512
    start: Size = 128
    momentum: Rate = 0.85
    dropout: Rate = 0.1
    _: KW_ONLY
    run_steps: int

    def __post_init__(self) -> None:
        self.width, self.steps = self.shape.width, max(self.run_steps, 1)
        self.projection = nn.Sequential(
            *(new_linear(self.width), new_linear(self.width)),
            *(nn.LayerNorm(self.width, SMALLEST), nn.Dropout(self.dropout)),
        )
        self.predictor = nn.Sequential(
            *(new_linear(self.width), nn.LayerNorm(self.width, SMALLEST), nn.Dropout(self.dropout)),
            *(new_linear(self.width), nn.Tanh()),
        )
        self.pretrained_pooler = self.shape.pooled

    def setup(self, encoder: Encoder) -> None:
        """Copy the encoder as loaded; fill the queue with random directions. Raises: BadSpec on a prompt."""
        if encoder.pooler.template:
            raise BadSpec("momentum_nce: the slow copy reads sentences without a prompt; take +cls or +mean")
        backbone: Any = encoder.backbone
        if self.pretrained_pooler and getattr(backbone, "pooler", None) is not None:
            self.projection[0].load_state_dict(backbone.pooler.dense.state_dict())
        self.online = [*backbone.parameters(), *self.projection.parameters()]
        self.copy = copy.deepcopy(nn.ModuleList([backbone, self.projection])).requires_grad_(False)
        self.encoder = [encoder]  # in a list, so that its weights are not the term's
        self.keys = F.normalize(torch.randn(self.start, self.width), dim=-1)[: self.size]
        self.sids = torch.full((len(self.keys),), -1)
        self.done = 0

    def forward(self, step: LossInputs) -> Tensor:
        assert step.sids is not None
        view, sids = step.views[0], step.sids
        self.keys, self.sids = self.keys.to(view.h.device), self.sids.to(view.h.device)
        learns = self.training and torch.is_grad_enabled()  # held-out sentences leave copy and queue as they are
        if learns:
            self.follow()
        predicted = self.predictor(self.projection(view.h))
        keys = self.read(view.ids, view.mask).to(predicted.dtype)
        candidates = torch.cat([keys, self.keys.to(keys.dtype)])
        allowed = sids[:, None] != self.sids
        loss = info_nce(predicted, candidates, self.temperature, allowed)
        if learns:
            self.keys, self.sids = (push(old, new, self.size) for old, new in ((self.keys, keys), (self.sids, sids)))
        return loss

    @torch.no_grad()
    def follow(self) -> None:
        """Update the momentum copy."""
        momentum = cosine_momentum(self.momentum, self.done, self.steps)
        for slow, online in zip(self.copy.parameters(), self.online, strict=True):
            momentum_update(slow, online, momentum)
        self.done += 1

    @torch.no_grad()
    def read(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Return the vectors (B, D) of the momentum copy."""
        backbone, projection = self.copy
        keys: Tensor = projection(self.encoder[0].pool(backbone, ids, mask, torch.zeros_like(mask[:, 0])))
        return keys
