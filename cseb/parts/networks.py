"""Further networks: a second or a peer encoder trained together with the first, a momentum copy with a queue."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from cseb.encoder.distributed import SINGLE_PROCESS, DistributedContext
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import POOLED, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Rate
from cseb.parts import Queued
from cseb.parts.base import BasePart
from cseb.parts.poolers import CLSPooler

SMALL = 4  # a subset below this many queues meets its own old keys too often


def momentum_update(copy: Tensor, online: Tensor, momentum: float) -> None:
    """Set copy to momentum * copy + (1 - momentum) * online, in place. Source: He et al. 2020, eq. 2."""
    copy.lerp_(online, 1 - momentum)


def push(queue: Tensor | None, new: Tensor, size: int) -> Tensor:
    """Return `new` (B, ...) in front of `queue` (K, ...), if there is one, cut to `size`."""
    return (new if queue is None else torch.cat([new, queue]))[:size]


class Queue(BasePart):
    """Queue of the last `size` sentences' vectors from a momentum copy of the encoder.

    The copy starts from the loaded weights and follows with `momentum` after every optimiser step, its own dropout at
    `dropout`; the head is the online one. Keys carry sentence ids: with mask_self an anchor is never compared with its
    own old key; "auto" means so in subsets below four queues. Source: Klein & Nabi 2023, section 3.1; He et al. 2020.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "momentum copy"
    size: Count = 384  # miCSE, section 3.1
    momentum: Rate = 0.995
    dropout: Rate = 0.3
    mask_self: bool | Literal["auto"] = "auto"

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if the queue is larger than the subset."""
        if self.size > sentences:
            raise BadSpec(
                f"queue: size is {self.size}, but this subset has {sentences} sentences; take +queue(size={sentences}) "
                "or less, or a larger fraction of the corpus"
            )

    def start(self, encoder: Encoder, sentences: int) -> None:
        """Copy the encoder and start with an empty queue. Raises: BadSpec, see fits."""
        self.fits(sentences)
        self.copy = encoder.twin(self.dropout)
        self.masked = sentences < SMALL * self.size if self.mask_self == "auto" else bool(self.mask_self)
        self.keys: Tensor | None = None
        self.sids: Tensor | None = None

    def negatives(self, sids: Tensor) -> Queued | None:
        """Return the queued negatives, or None while the queue is empty. sids: (B,)."""
        if self.keys is None or self.sids is None:
            return None
        own = sids[:, None] == self.sids[None, :]  # (B, K)
        return Queued(self.keys, ~own if self.masked else torch.ones_like(own))

    @torch.no_grad()
    def remember(
        self,
        encoder: Encoder,
        ids: Tensor,
        mask: Tensor,
        anchor: Tensor,
        sids: Tensor,
        distributed: DistributedContext = SINGLE_PROCESS,
    ) -> None:
        """Update the momentum copy, then queue its vectors of this batch. ids, mask: (B, T)."""
        for copy, online in zip(self.copy.parameters(), encoder.backbone.parameters(), strict=True):
            momentum_update(copy, online, self.momentum)
        pooled = encoder.pool(self.copy, *(distributed.own(field) for field in (ids, mask, anchor)))
        keys = encoder.project(distributed.gather(pooled, len(ids))).detach()
        self.keys, self.sids = push(self.keys, keys, self.size), push(self.sids, sids, self.size)


class SecondEncoder(BasePart):
    """A copy of the encoder with its own weights encodes every view but the first.

    Both start from the same weights and both are trained; gradients never cross. The dev set chooses between the two
    as well; without one the copy is the result. Source: Carlsson et al. 2021 (CT).
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "second encoder"
    peer: ClassVar[bool] = False
    needs: ClassVar[frozenset[str]] = frozenset()

    def __call__(self, encoder: Encoder) -> Encoder:
        return encoder.sibling()


class PeerEncoder(BasePart):
    """A copy of the encoder with its own weights and the shared head encodes every view too.

    It has every term too and is compared with the encoder by terms of two networks; at test it is gone. pooler:
    "pretrained" (first token through the encoder's pre-trained dense layer), "same" as the method's, or "auto":
    pre-trained where there is one. attention_mask: False lets it attend to padding. Source: Wu et al. 2022 (PCL);
    authors' code. Raises: BadSpec if there is no pre-trained pooler.
    """

    version: ClassVar[int] = 2
    requires: ClassVar[str] = "second encoder"
    peer: ClassVar[bool] = True

    # PCL release, its missing mask put right
    def __init__(
        self, pooler: Literal["auto", "pretrained", "same"] = "auto", attention_mask: bool = True, *, shape: Shape
    ) -> None:
        pretrained = pooler == "pretrained" or (pooler == "auto" and shape.pooled)
        self.pooler = CLSPooler(shape) if pretrained else None
        self.needs = frozenset({POOLED} if pretrained else ())
        self.attention_mask = attention_mask

    def __call__(self, encoder: Encoder) -> Encoder:
        peer = encoder.peer(self.pooler)
        if not self.attention_mask:
            peer.backbone.register_forward_pre_hook(_attend_everywhere, with_kwargs=True)
        return peer


def _attend_everywhere(backbone: nn.Module, inputs: Any, options: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    return inputs, {**options, "attention_mask": torch.ones_like(options["attention_mask"])}
