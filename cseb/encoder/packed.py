"""The packed batch: the real tokens of its sentences, and attention and dropout among them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

STEPS = 1 << 16  # rates are multiples of 1 / STEPS, so that 16 bits decide: 0.1 is 0.100006


def dropped(x: Tensor, rate: float, onto: Tensor | None = None) -> Tensor:
    """Set elements of `x` to 0 with probability `rate`, divide the others by 1 - rate, and add the result to `onto`.

    Four elements share one draw of 64 bits from torch's own generator; torch.nn.functional.dropout draws for each.
    """
    dropped_steps = round(rate * STEPS)
    if dropped_steps == 0:
        return x if onto is None else onto + x
    if x.device.type != "cpu" or dropped_steps == STEPS:
        result = F.dropout(x, rate)
        return result if onto is None else onto + result
    words = torch.empty(-(-x.numel() // 4), dtype=torch.int64).random_(-(1 << 63), None)
    kept = torch.empty(x.shape, dtype=x.dtype)
    torch.ge(words.view(torch.int16)[: x.numel()].view(x.shape), dropped_steps - STEPS // 2, out=kept)
    return torch.addcmul(x.new_zeros(()) if onto is None else onto, x, kept, value=STEPS / (STEPS - dropped_steps))


LOWEST = torch.finfo(torch.bfloat16).min  # score of a masked position; finite, so that no row of a softmax is NaN


@dataclass(frozen=True, slots=True)
class Packed:
    """The N real tokens of B sentences padded to T.

    ids, positions: (N,). spots: (N,) their places in the batch, row by row. rows: (B,) rows of the batch, in the order
    of the packed sentences, shortest first. blocks: (sentences, tokens of each) of each run of equal lengths. hidden:
    (B, 1, 1, T), added to scores if padding is among the tokens. maps: of each layer and block, (sentences, H, tokens,
    tokens), if `kept`.
    """

    ids: Tensor
    positions: Tensor
    spots: Tensor
    rows: Tensor
    blocks: Sequence[tuple[int, int]]
    shape: tuple[int, int]
    kept: bool
    hidden: Tensor | None = None
    maps: list[list[Tensor]] = field(default_factory=list)

    @classmethod
    def of(cls, ids: Tensor, mask: Tensor, pad_offset: int | None, padding: bool = False, kept: bool = False) -> Packed:
        """Pack token ids (B, T). padding: keep tokens of mask 0, unattended. pad_offset: see `_positions`."""
        if padding:
            every, shape = torch.arange(ids.numel()), (len(ids), ids.shape[1])
            hidden = torch.zeros(mask.shape).masked_fill(mask == 0, LOWEST)[:, None, None]
            positions = _positions(ids, pad_offset).flatten()
            return cls(ids.flatten(), positions, every, torch.arange(len(ids)), [shape], shape, kept, hidden)
        lengths, rows = mask.bool().sum(dim=1).sort(stable=True)
        lengths, rows = lengths[lengths > 0], rows[lengths > 0]
        columns = torch.arange(ids.shape[1], device=ids.device)
        spots = (rows[:, None] * ids.shape[1] + columns)[mask[rows].bool()]
        tokens, sentences = torch.unique_consecutive(lengths, return_counts=True)
        blocks = list(zip(sentences.tolist(), tokens.tolist(), strict=True))
        positions = _positions(ids, pad_offset).flatten()[spots]
        return cls(ids.flatten()[spots], positions, spots, rows, blocks, (len(ids), ids.shape[1]), kept)

    def padded(self, states: Tensor) -> Tensor:
        """Unpack states: (N, D) to (B, T, D)."""
        sentences, tokens = self.shape
        flat = states.new_zeros(sentences * tokens, states.shape[1]).index_copy(0, self.spots, states)
        return flat.view(sentences, tokens, -1)

    def padded_maps(self) -> tuple[Tensor, ...]:
        """Unpack the attention maps: (B, H, T, T) for each layer."""
        sentences, tokens = self.shape
        layers = []
        for blocks in self.maps:
            wide = torch.cat([F.pad(block, (0, tokens - block.shape[2]) * 2) for block in blocks])
            layers.append(wide.new_zeros(sentences, *wide.shape[1:]).index_copy(0, self.rows, wide))
        return tuple(layers)

    def attended(
        self, heads: int, query: Tensor, key: Tensor, value: Tensor, rate: float, bias: Tensor | None = None
    ) -> tuple[Tensor, list[Tensor]]:
        """Compute attention among the tokens of each sentence: (N, D) of each input to (N, D), and the maps, if `kept`.

        rate: of dropout on the maps. bias: (1, H or 1, T, T), added to the scores.
        """
        if self.hidden is not None:
            bias = self.hidden if bias is None else (bias + self.hidden).clamp(min=LOWEST)
        sizes = [sentences * tokens for sentences, tokens in self.blocks]
        mixed, maps = [], []
        blocks = (torch.split(states, sizes) for states in (query, key, value))
        for (sentences, tokens), *parts in zip(self.blocks, *blocks, strict=True):
            q, k, v = (part.view(sentences, tokens, heads, -1).transpose(1, 2) for part in parts)
            block_bias = None if bias is None else bias[..., :tokens, :tokens].to(q.dtype)
            if rate or self.kept:
                scores = (q * q.shape[-1] ** -0.5) @ k.mT
                maps.append(dropped((scores if block_bias is None else scores + block_bias).softmax(dim=-1), rate))
                context = maps[-1] @ v
            else:
                context = F.scaled_dot_product_attention(q, k, v, block_bias)
            mixed.append(context.transpose(1, 2).reshape(sentences * tokens, -1))
        return torch.cat(mixed), maps if self.kept else []


def _positions(ids: Tensor, pad_offset: int | None) -> Tensor:
    """Return position ids (B, T). pad_offset: the padding id, if positions start after it and skip it as in RoBERTa."""
    if pad_offset is None:
        return torch.arange(ids.shape[1], device=ids.device).expand(ids.shape)
    real = (ids != pad_offset).long()
    return real.cumsum(dim=1) * real + pad_offset
