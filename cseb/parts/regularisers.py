"""Noise inside self-attention in training, and weights mixed with those of the start after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from cseb.encoder.random_streams import random_stream
from cseb.methods.option_types import DropoutRate, Rate
from cseb.parts.base import BasePart, EncoderPart, check_attention


def drop_heads(context: Tensor, kept: Tensor) -> Tensor:
    """Zero the heads with kept = 0 and scale the others up by H over their number, per sentence.

    context: (B, T, H, D/H), before the output projection. kept: (B, H), 0 or 1, at least one 1 in a row.
    Source: Zhou et al., Findings of EMNLP 2020 (DropHead); what to do where no head survives is ours.
    """
    scale = kept * kept.shape[1] / kept.sum(dim=1, keepdim=True)
    return context * scale[:, None, :, None].to(context.dtype)


def surviving_heads(batch: int, heads: int, rate: float, device: torch.device) -> Tensor:
    """Draw a mask (B, H), 1 with probability 1 - rate; redraw rows of zeros."""
    kept = (torch.rand(batch, heads, device=device) >= rate).float()
    while bool((none := kept.sum(dim=1) == 0).any()):
        kept[none] = (torch.rand(int(none.sum()), heads, device=device) >= rate).float()
    return kept


class AttentionNoise(EncoderPart):
    """Base of noise in self-attention modules, which must be open to it. name: of the part."""

    name: ClassVar[str]
    rate: DropoutRate = 0.1  # RCL, table 1

    def __post_init__(self) -> None:
        check_attention(self.name, self.shape)


class AttentionDropout(AttentionNoise):
    """Another dropout rate for attention probabilities; other dropout is unchanged.

    Source: Tan et al. 2022, table 1 ("attention dropout").
    """

    name = "attention_dropout"

    def attach(self, attentions: Sequence[nn.Module]) -> None:
        for attention in attentions:
            dropout: Any = attention.dropout
            dropout.p = self.rate


class DropHead(AttentionNoise):
    """Drop whole attention heads at random, for every sentence and layer.

    Constant rate. Source: Zhou et al., Findings of EMNLP 2020; Tan et al. 2022, table 1, uses it as a control.
    """

    version: ClassVar[int] = 2
    name = "drophead"

    def attach(self, attentions: Sequence[nn.Module]) -> None:
        """Register a hook on every self-attention module, after its heads and before the output projection."""
        for attention in attentions:
            attention.register_forward_hook(self._drop)

    def _drop(self, attention: Any, inputs: Any, output: Any) -> Any:
        if not attention.training:
            return output
        context, *rest = output  # (B, T, D)
        heads = attention.num_attention_heads
        with random_stream("regulariser"):
            kept = surviving_heads(len(context), heads, self.rate, context.device)
        split = context.unflatten(-1, (heads, -1))  # (B, T, H, D/H)
        return drop_heads(split, kept).flatten(2), *rest


NOT_MIXED = ("head", "post")  # new in every run, or fitted afterwards: there is no start to go back to


def interpolated(start: Mapping[str, Tensor], trained: Mapping[str, Tensor], share: float) -> dict[str, Tensor]:
    """Return (1 - share) start + share trained for every floating entry; integers are those of `trained`.

    Entries of the same name have the same shape. Source: Wortsman et al. 2022 (WiSE-FT), its authors' code.
    """
    return {
        name: (1 - share) * start[name] + share * value if value.is_floating_point() else value
        for name, value in trained.items()
    }


class Mix(BasePart):
    """Interpolate the weights of encoder and pooler with those before training, after checkpoint selection on dev.

    share: of the trained weights; 1 keeps them, 0 undoes training. The head, new in every run, stays
    as trained; the step after the encoder is fitted anew. Evaluation steps during training use unmixed weights.
    Source: Wortsman et al. 2022 (WiSE-FT); Xiao et al. 2023 (LM-Cocktail), two models of equal weight.
    """

    share: Rate = 0.5  # WiSE-FT's recommendation where nothing is tuned

    def __call__(self, start: Mapping[str, Tensor], trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the entries of an encoder that are tested, by name."""
        own = {name: value for name, value in trained.items() if name.split(".")[0] not in NOT_MIXED}
        return {**trained, **interpolated(start, own, self.share)}
