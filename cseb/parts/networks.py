"""Further networks that are trained together with the encoder."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import torch
from torch import nn

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import POOLED, Shape
from cseb.parts.base import BasePart
from cseb.parts.poolers import CLSPooler


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
