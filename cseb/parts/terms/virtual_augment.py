"""An adversarial view: the vector moved to where its neighbours are hardest to distinguish from it (VaSCL)."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.autocast import in_full, products
from cseb.methods.option_types import Count, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm


def steepest_direction(point: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
    """Return rows (N, D) of length 1 along which `loss` of `point` (N, D) grows fastest; 0 where it is flat.

    The gradient is one of the point alone, and the result is a constant. Source: Zhang et al. 2022 (VaSCL) and Zhou et
    al. 2022 (DCLR); authors' code.
    """
    with torch.enable_grad():
        start = point.detach().requires_grad_()
        gradient: Tensor = torch.autograd.grad(loss(start), start)[0]
    return F.normalize(gradient.nan_to_num(), dim=-1)


def neighbourhood(vectors: Tensor, count: int) -> Tensor:
    """Return indices (B, k) of the nearest others of vectors (B, D) by dot product, k = min(count, B - 1)."""
    nearness = products(vectors, vectors).fill_diagonal_(float("-inf"))
    return nearness.topk(min(count, len(vectors) - 1), dim=1).indices


@in_full
def neighbour_nce(left: Tensor, right: Tensor, neighbours: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of row i of `left` for row i of `right` among the neighbours' rows of `left`, in nats.

    left, right: (B, P). neighbours: (B, k). Source: Zhang et al. 2022 (VaSCL), loss of the inner step; authors' code.
    """
    own = (left * right).sum(dim=1, keepdim=True)  # (B, 1)
    others = torch.einsum("bp,bkp->bk", right, left[neighbours])
    logits = torch.cat([own, others], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=logits.device))


@in_full
def nt_xent_knn(left: Tensor, right: Tensor, neighbours: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of every row's counterpart among both sides' neighbours, over 2 B anchors, in nats.

    left, right: (B, P). neighbours: (B, k). Source: Zhang et al. 2022 (VaSCL), neighbourhood-guided contrast.
    """
    both = torch.cat([left[neighbours], right[neighbours]], dim=1)  # (B, 2 k, P)
    own = (left * right).sum(dim=1, keepdim=True)
    logits = [torch.cat([own, torch.einsum("bp,bkp->bk", side, both)], dim=1) for side in (left, right)]
    stacked = torch.cat(logits) / temperature
    return F.cross_entropy(stacked, torch.zeros(len(stacked), dtype=torch.long, device=stacked.device))


class VirtualNTXent(LossTerm):
    """The first view against its adversarial view, with its nearest sentences of the batch as the only negatives.

    neighbours: how many at most. reach: length of the push. detach: the encoder gets no gradient, only the head does,
    as released; False trains it, as described. Source: Zhang et al. 2022 (VaSCL); authors' code.
    """

    version: ClassVar[int] = 2
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("h", "head", views=1)
    temperature: Positive = 0.05  # VaSCL release
    neighbours: Count = 16
    reach: Positive = 15.0
    detach: bool = True

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, 0 for a sentence alone."""
        assert step.head is not None
        h = step.views[0].h
        if len(h) == 1:
            return step.views[0].z.sum() * 0
        head, fixed = step.head, h.detach()
        neighbours = neighbourhood(fixed, self.neighbours)
        anchors = F.normalize(head(fixed if self.detach else h), dim=-1)
        anchors = anchors.detach() if self.detach else anchors
        noise = torch.rand(fixed.shape, generator=step.rng, device=fixed.device) - 0.5
        start = F.normalize(noise, dim=-1).to(fixed.dtype)

        def identification_loss(push: Tensor) -> Tensor:
            moved = F.normalize(head(fixed + self.reach * push), dim=-1)
            return neighbour_nce(anchors.detach(), moved, neighbours, self.temperature)

        worst = steepest_direction(start, identification_loss).to(fixed.dtype)
        virtual = F.normalize(head((fixed if self.detach else h) + self.reach * worst), dim=-1)
        return nt_xent_knn(anchors, virtual, neighbours, self.temperature)
