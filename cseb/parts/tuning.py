"""Selection of the weights of the encoder that are trained."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import ClassVar

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import LAYERS, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count

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
