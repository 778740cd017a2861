"""Attention through a fixed number of learnt pseudo tokens, between token states and the sentence vector (PT-BERT)."""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import BOTH_SIDES, Shape, States
from cseb.errors import BadSpec
from cseb.methods.option_types import Count
from cseb.parts.base import PoolerPart


class Attention(nn.Module):
    """Self-attention of BERT without its output layer."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))

    def forward(self, queries: Tensor, states: Tensor, mask: Tensor | None = None) -> Tensor:
        """Attend from queries (B, M, D) to states (B, N, D) where mask (B, N) is 1: (B, M, D)."""
        q, k, v = (
            layer(inputs).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, inputs in ((self.query, queries), (self.key, states), (self.value, states))
        )  # (B, H, M or N, D / H)
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        if mask is not None:
            scores = scores.masked_fill(mask[:, None, None] == 0, float("-inf"))
        attended: Tensor = F.dropout(scores.softmax(dim=-1), self.dropout, self.training) @ v
        return attended.transpose(1, 2).flatten(2)


class PseudoTokens(PoolerPart):
    """The first token attends to `count` pseudo tokens, which have attended to the sentence; both by one attention.

    at: what the pseudo tokens attend to, "tokens" (all real ones) or "pooled" (the first token alone, as released: a
    softmax over one key is 1, so that they have no effect and the vector is an affine map of the first token). test:
    False has the first token itself at test. As many heads as the encoder has, and its largest dropout rate on the
    attention. Pseudo tokens start from N(0, 1), the attention as torch's linear layers do. Source: Tan et al. 2022
    (PT-BERT); authors' code. Raises: BadSpec if the heads cannot share the width.
    """

    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset({BOTH_SIDES})

    # PT-BERT release, but for `at`
    def __init__(
        self, count: Count = 128, at: Literal["tokens", "pooled"] = "tokens", test: bool = False, *, shape: Shape
    ) -> None:
        if shape.width % shape.heads:
            raise BadSpec(
                f"pseudo_tokens: this encoder's {shape.heads} heads cannot share a width of {shape.width}; take +cls"
            )
        self.at, self.at_test = at, test
        self.pseudo = nn.Parameter(torch.empty(count, shape.width).normal_())
        self.attention = Attention(shape.width, shape.heads, shape.dropout)

    def forward(self, states: States) -> Tensor:
        last = states.layers[-1]
        first = last[:, :1]  # (B, 1, D)
        if not (self.training or self.at_test):
            return first[:, 0]
        pseudo = self.pseudo.expand(len(last), -1, -1)
        read, mask = (last, states.mask) if self.at == "tokens" else (first, None)
        attended: Tensor = self.attention(first, self.attention(pseudo, read, mask))
        return attended[:, 0]
