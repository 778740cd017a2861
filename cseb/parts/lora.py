"""Low-rank updates of the weights of linear layers (LoRA)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LAYERS
from cseb.errors import BadSpec, did_you_mean
from cseb.methods.option_types import Count, Positive
from cseb.parts.base import EncoderPart
from cseb.parts.tuning import layers_of, meta_backbone

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
