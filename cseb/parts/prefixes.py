"""Trained keys and values prepended in every layer, with a frozen encoder (PromCSE)."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AutoConfig

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, DropoutRate
from cseb.parts.contract_checks import check_attention
from cseb.parts.heads import INITIAL_SPREAD
from cseb.parts.tuning import NoConversion

FEWEST = 8  # tokens that an encoder must still be able to place
ARGUMENTS = ("hidden_states", "attention_mask", "past_key_values")  # to a self-attention, in this order


@dataclass(frozen=True, slots=True)
class PrefixKeyValues:
    """Keys and values (B, H, P, D / H) in the place of the library's cache of earlier tokens."""

    key: Tensor
    value: Tensor

    def update(self, key: Tensor, value: Tensor, *_: object, **__: object) -> tuple[Tensor, Tensor]:
        """Return the tokens' keys and values (B, H, T, D / H) with the prefixes prepended: (B, H, P + T, D / H)."""
        return torch.cat([self.key.to(key.dtype), key], dim=2), torch.cat([self.value.to(value.dtype), value], dim=2)


class PrefixTable(nn.Module):
    """P keys and values for each of L layers: table (L, 2, P, D). Dropout is drawn for each sentence."""

    def __init__(self, layers: int, length: int, width: int, dropout: float) -> None:
        super().__init__()
        self.length, self.dropout = length, dropout
        self.table = nn.Parameter(torch.empty(layers, 2, length, width).normal_(std=INITIAL_SPREAD))

    def before(self, layer: int, sentences: int, heads: int) -> PrefixKeyValues:
        """Return the prefixes of a layer for a number of sentences."""
        own = F.dropout(self.table[layer].expand(sentences, -1, -1, -1), self.dropout, self.training)
        key, value = own.view(*own.shape[:-1], heads, -1).transpose(2, 3).unbind(dim=1)
        return PrefixKeyValues(key, value)

    def attend(self, layer: int, attention: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Pass the prefixes of a layer to its self-attention; every token may attend to them."""
        arguments = dict(zip(ARGUMENTS, args, strict=False)) | kwargs
        mask = arguments.get("attention_mask")
        if mask is not None:
            seen = 0.0 if mask.is_floating_point() else 1  # added to scores, or True
            arguments["attention_mask"] = F.pad(mask, (self.length, 0), value=seen)
        heads = attention.num_attention_heads
        arguments["past_key_values"] = self.before(layer, len(arguments["hidden_states"]), heads)
        return (), arguments

    def shift(self, embeddings: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
        """Shift the positions of tokens by the number of prefixes."""
        return args, kwargs | {"past_key_values_length": self.length}


class Prefix(NoConversion):
    """Only `length` keys and values prepended in every layer are trained; the encoder is frozen.

    dropout: on the prefixes, for each sentence of its own. shift_positions: tokens' positions start behind the
    prefixes, as in the authors' code. The encoder's own dropout stays on, since it makes the views of many methods. A
    head, a pooler and terms with weights of their own are trained as usual. The prefixes are needed at test and belong
    to no ordinary checkpoint, so such an encoder cannot be saved. Source: Jiang et al. 2022 (PromCSE), section 3.1;
    authors' code. Raises: BadSpec where self-attention cannot be reached, or too few positions are left.
    """

    adds_weights = True
    stays = True
    longer_maps = True

    # PromCSE release, BERT-base
    def __init__(
        self, length: Count = 16, dropout: DropoutRate = 0.1, shift_positions: bool = True, *, shape: Shape
    ) -> None:
        self.length, self.dropout, self.shifts, self.layers = length, dropout, shift_positions, shape.layers
        check_attention("prefix", shape)
        if shift_positions and shape.folder is not None:
            places = int(AutoConfig.from_pretrained(shape.folder).max_position_embeddings)
            if length > (most := places - (shape.first_position or 0) - FEWEST):
                raise BadSpec(
                    f"prefix: length is {length}, which leaves this encoder fewer than {FEWEST} of its {places} "
                    f"positions; take at most {most}, or shift_positions=false"
                )

    def attach(self, encoder: Encoder) -> None:
        """Freeze the backbone and prepend prefixes in every layer."""
        backbone: Any = encoder.backbone
        backbone.requires_grad_(False)
        attentions = encoder.attentions()
        backbone.prefix = PrefixTable(len(attentions), self.length, backbone.config.hidden_size, self.dropout)
        for layer, attention in enumerate(attentions):
            attention.register_forward_pre_hook(partial(backbone.prefix.attend, layer), with_kwargs=True)
        if self.shifts:
            backbone.embeddings.register_forward_pre_hook(backbone.prefix.shift, with_kwargs=True)
            places = encoder.limit() + encoder.prompt_tokens() - self.length
            encoder.tokenizer = copy.copy(encoder.tokenizer)  # the other jobs' own is not shortened
            encoder.tokenizer.model_max_length = places
