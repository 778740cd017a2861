"""A mean of tokens weighted by inverse frequency (SIF)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from cseb.encoder.interface import Rows, Shape, States
from cseb.methods.option_types import Positive
from cseb.parts.poolers import masked_mean


class SIF(nn.Module):
    """Mean of the last layer over real tokens, each weighted by a / (a + p).

    a: the weight of a token is a half where its frequency p is a. p is its share of all tokens of the training
    sentences, special ones included; a token that they lack has weight 1. Source: Arora, Liang & Ma 2017 (SIF),
    algorithm 1, authors' code; p is of a corpus of its own there, and the common direction is taken out of the vectors,
    as `remove_components` does.
    """

    preset: ClassVar = {"a": 1e-3}  # SIF, section 4.1: 1e-3 to 1e-4; its authors' code
    data_seen: ClassVar[str] = "subset"
    requires: ClassVar[str] = "token counts of the subset"
    needs: ClassVar[frozenset[str]] = frozenset()
    template = ""

    def __init__(self, a: Positive, shape: Shape) -> None:
        super().__init__()
        self.a = a
        self.weights: Tensor
        self.register_buffer("weights", torch.ones(shape.vocabulary))  # (V,), 1 until tokens are counted

    def count(self, counts: Rows) -> None:
        """Set the weights from the tokens' counts (V,) in the training sentences."""
        frequency = torch.from_numpy(counts).double() / max(int(counts.sum()), 1)
        self.weights.copy_(self.a / (self.a + frequency))

    def forward(self, states: States) -> Tensor:
        """Return (B, D)."""
        assert states.ids is not None
        last = states.layers[-1]
        return masked_mean(last * self.weights[states.ids].unsqueeze(-1).to(last.dtype), states.mask)
