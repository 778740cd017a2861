"""Selection of the weights that are trained: the last layers, low-rank updates (LoRA), prefixes (PromCSE)."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils import parametrize
from transformers import AutoConfig, AutoModel

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LAYERS, Shape
from cseb.errors import BadSpec, did_you_mean
from cseb.methods.option_types import Count, DropoutRate, Positive
from cseb.parts.base import EncoderPart, check_attention
from cseb.parts.heads import INITIAL_SPREAD

AFTER = ("pooler", "final_norm")  # modules of a backbone that stand behind its layers


def layers_of(backbone: nn.Module, count: int, what: str) -> nn.ModuleList:
    """Return the list of a backbone's `count` layers, first layer first, for the part `what`.

    Raises: BadSpec if they are not separate modules, as where all share their weights.
    """
    for module in backbone.modules():
        if isinstance(module, nn.ModuleList) and len(module) == count:
            return module
    raise BadSpec(f"{what}: the layers of this encoder are no separate modules; take another encoder, or -{what}")


@lru_cache(maxsize=8)
def meta_backbone(folder: Path | None) -> nn.Module | None:
    """Return the backbone without weights, to check a job before it is built; None if it cannot be made."""
    if folder is None:
        return None
    try:
        with torch.device("meta"):
            backbone: nn.Module = AutoModel.from_config(AutoConfig.from_pretrained(folder))  # type: ignore[no-untyped-call]
    except Exception:  # code of its own may want permission, which is there by the time it is built
        return None
    return backbone


class NoConversion:
    """Base of parts after which a checkpoint needs no conversion."""

    def plain(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the checkpoint unchanged."""
        return dict(state)

    def detach(self, encoder: Encoder) -> None:
        """Leave the encoder as it is."""


class LastLayers(NoConversion):
    """Only the last `count` layers are trained; embeddings and all earlier layers are frozen.

    Their dropout stays on, for it makes the views of many methods. A head, a pooler and terms with weights of their own
    are trained as usual. Source: Gonzalez-Marquez et al. 2026, figure 4 (the last 2 of 12 layers have most of the
    gain). Raises: BadSpec if the encoder has fewer layers, or uses one layer several times.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    adds_weights = False

    def __init__(self, count: Count = 2, *, shape: Shape) -> None:
        self.count, self.layers = count, shape.layers
        if count > shape.layers:
            raise BadSpec(f"last_layers: count is {count}, this encoder has {shape.layers} layers; take no more")
        if (backbone := meta_backbone(shape.folder)) is not None:
            layers_of(backbone, shape.layers, "last_layers")

    def attach(self, encoder: Encoder) -> None:
        """Freeze the backbone except its last layers and the modules after them."""
        backbone = encoder.backbone
        layers = layers_of(backbone, self.layers, "last_layers")
        backbone.requires_grad_(False)
        behind = [module for name, module in backbone.named_children() if name in AFTER]
        for module in (*layers[-self.count :], *behind):
            module.requires_grad_(True)


# The maps to queries and to values, as families call them.
QUERIES_AND_VALUES = ("query", "value", "q", "v", "q_lin", "v_lin", "query_proj", "value_proj", "q_proj", "v_proj")
CHANGED = ".parametrizations.weight."


class LowRank(nn.Module):
    """W + scale B A, for W (O, I): A (R, I) is random and B (O, R) is 0, so that training starts at W.

    Source: Hu et al. 2021 (LoRA), section 4.1; Kaiming's uniform first A, as in PEFT.
    """

    def __init__(self, out: int, into: int, rank: int, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.down = nn.Parameter(torch.empty(rank, into))
        self.up = nn.Parameter(torch.zeros(out, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, weight: Tensor) -> Tensor:
        return weight + self.scale * (self.up @ self.down)


def linear_layers(backbone: nn.Module, layers: int) -> Iterator[tuple[str, nn.Linear]]:
    """Yield every linear layer inside the layers of a backbone, with the last component of its name."""
    for name, module in layers_of(backbone, layers, "lora").named_modules():
        if isinstance(module, nn.Linear):
            yield name.rpartition(".")[2], module


class LoRA(EncoderPart):
    """Low-rank updates of some linear layers are trained, all other weights are frozen.

    rank: of each change. alpha: alpha / rank times the change is added. targets: "qv", the maps to queries and values,
    "all" linear layers, or names as the encoder has them. All else of the backbone stays as it is; a head, a pooler and
    terms with weights of their own are trained as usual. What is saved is an ordinary checkpoint. There is no dropout
    on the low-rank path. Rates are usually ten times those of the whole encoder: `+recipe(learning_rate=3e-4)`. Source:
    Hu et al. 2021 (LoRA); sizes from section 4. Raises: BadSpec on a name that is not there, or where no layer has one.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    adds_weights = True
    rank: Count = 8
    alpha: Positive = 16.0
    targets: Literal["qv", "all"] | tuple[str, ...] = "qv"

    def __post_init__(self) -> None:
        shape, targets = self.shape, self.targets
        self.scale, self.layers = self.alpha / self.rank, shape.layers
        if (backbone := meta_backbone(shape.folder)) is None:
            return
        names = tuple(dict.fromkeys(name for name, _ in linear_layers(backbone, shape.layers)))
        for name in targets if isinstance(targets, tuple) else ():
            if name not in names:
                raise BadSpec(f"lora: this encoder has no linear layer called {name!r}; {did_you_mean(name, names)}")
        if not any(map(self._is_target, names)):
            raise BadSpec(
                f"lora: targets is {targets!r}, this encoder's linear layers are {', '.join(names)}; name some of these"
            )

    def _is_target(self, name: str) -> bool:
        if self.targets == "all":
            return True
        return name in (QUERIES_AND_VALUES if self.targets == "qv" else self.targets)

    def attach(self, encoder: Encoder) -> None:
        """Freeze the backbone and add a low-rank update to every target."""
        backbone = encoder.backbone
        targets = [module for name, module in linear_layers(backbone, self.layers) if self._is_target(name)]
        backbone.requires_grad_(False)
        for module in targets:
            out, into = module.weight.shape
            change = LowRank(out, into, self.rank, self.scale).to(module.weight.dtype)
            parametrize.register_parametrization(module, "weight", change)

    def plain(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return a checkpoint with the updates merged into ordinary weights."""
        merged = {}
        for name, value in state.items():
            module, changed, entry = name.partition(CHANGED)
            if not changed:
                merged[name] = value
            elif entry == "original":
                up, down = (state[f"{module}{CHANGED}0.{side}"] for side in ("up", "down"))
                merged[f"{module}.weight"] = value + self.scale * (up @ down)
        return merged

    def detach(self, encoder: Encoder) -> None:
        """Merge the updates into the encoder's weights."""
        for module in encoder.backbone.modules():
            if parametrize.is_parametrized(module, "weight"):
                parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)


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
