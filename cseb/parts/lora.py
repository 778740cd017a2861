"""Low-rank changes to the weights of linear layers, trained in the place of the weights (LoRA)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize
from transformers import AutoConfig, AutoModel

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LAYERS, Shape
from cseb.errors import BadSpec, did_you_mean
from cseb.methods.option_types import Count, Positive
from cseb.parts.tuning import layers_of

# The maps to queries and to values, as families call them.
QUERIES_AND_VALUES = ("query", "value", "q", "v", "q_lin", "v_lin", "query_proj", "value_proj", "q_proj", "v_proj")
CHANGED = ".parametrizations.weight."


class LowRank(nn.Module):
    """W + scale B A, of W (O, I): A (R, I) is random and B (O, R) 0, so that training starts at W.

    Source: Hu et al. 2021 (LoRA), section 4.1; Kaiming's uniform first A, as in PEFT.
    """

    def __init__(self, out: int, into: int, rank: int, scale: float) -> None:
        super().__init__()
        self.scale = scale
        self.down = nn.Parameter(torch.empty(rank, into))
        self.up = nn.Parameter(torch.zeros(out, rank))
        nn.init.kaiming_uniform_(self.down, a=math.sqrt(5))

    def forward(self, weight: Tensor) -> Tensor:
        """(O, I) to (O, I)."""
        return weight + self.scale * (self.up @ self.down)


def linear_layers(backbone: nn.Module, layers: int) -> Iterator[tuple[str, nn.Linear]]:
    """Every linear layer inside the layers of a backbone, with the last piece of its name."""
    for name, module in (layers_of(backbone, layers) or nn.ModuleList()).named_modules():
        if isinstance(module, nn.Linear):
            yield name.rpartition(".")[2], module


@lru_cache(maxsize=8)
def _names(folder: Path, layers: int) -> tuple[str, ...]:
    """What an encoder calls its linear layers; no weights are read."""
    with torch.device("meta"):
        backbone: nn.Module = AutoModel.from_config(AutoConfig.from_pretrained(folder))  # type: ignore[no-untyped-call]
    return tuple(dict.fromkeys(name for name, _ in linear_layers(backbone, layers)))


class LoRA:
    """Only low-rank changes to some linear layers are trained, and added to their weights in the end.

    rank: of each change. alpha: alpha / rank times the change is added. targets: "qv", the maps to queries and values,
    "all" linear layers, or names as the encoder has them. All else of the backbone stays as it is; a head, a pooler and
    terms with weights of their own are trained as ever. What is saved is an ordinary checkpoint. There is no dropout on
    the low-rank path. Rates are usually ten times those of the whole encoder: `+recipe(learning_rate=3e-4)`. Source: Hu
    et al. 2021 (LoRA); sizes from section 4. Raises: BadSpec on a name that is not there, or where no layer has one.
    """

    preset: ClassVar = {"rank": 8, "alpha": 16.0, "targets": "qv"}
    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    adds_weights = True

    def __init__(
        self, rank: Count, alpha: Positive, targets: Literal["qv", "all"] | tuple[str, ...], shape: Shape
    ) -> None:
        self.rank, self.scale, self.layers, self.targets = rank, alpha / rank, shape.layers, targets
        if shape.folder is None:
            return
        names = _names(shape.folder, shape.layers)
        asked = targets if isinstance(targets, tuple) else ()
        for name in asked:
            if name not in names:
                raise BadSpec(f"lora: this encoder has no linear layer called {name!r}; {did_you_mean(name, names)}")
        if not any(map(self._meant, names)):
            there = ", ".join(names) or "none that can be told apart"
            raise BadSpec(f"lora: targets is {targets!r}, this encoder's linear layers are {there}; name some of these")

    def _meant(self, name: str) -> bool:
        if self.targets == "all":
            return True
        return name in (QUERIES_AND_VALUES if self.targets == "qv" else self.targets)

    def attach(self, encoder: Encoder) -> None:
        """Freeze the backbone and lay a low-rank change over every target."""
        backbone = encoder.backbone
        found = [module for name, module in linear_layers(backbone, self.layers) if self._meant(name)]
        backbone.requires_grad_(False)
        for module in found:
            out, into = module.weight.shape
            change = LowRank(out, into, self.rank, self.scale).to(module.weight.dtype)
            parametrize.register_parametrization(module, "weight", change)

    def plain(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A checkpoint of the changed encoder as one of an ordinary encoder, the changes added."""
        found = {}
        for name, value in state.items():
            module, changed, entry = name.partition(CHANGED)
            if not changed:
                found[name] = value
            elif entry == "original":
                up, down = (state[f"{module}{CHANGED}0.{one}"] for one in ("up", "down"))
                found[f"{module}.weight"] = value + self.scale * (up @ down)
        return found

    def detach(self, encoder: Encoder) -> None:
        """Make the encoder an ordinary one, the changes added to its weights."""
        for module in encoder.backbone.modules():
            if parametrize.is_parametrized(module, "weight"):
                parametrize.remove_parametrizations(module, "weight", leave_parametrized=True)
