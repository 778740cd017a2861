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

SHARED = (
    "last_layers: the layers of this encoder cannot be told apart, as where all share their weights; take "
    "-last_layers, or another encoder"
)
AFTER = ("pooler", "final_norm")  # modules of a backbone that stand behind its layers


def layers_of(backbone: nn.Module, count: int) -> nn.ModuleList | None:
    """Return the list of a backbone's `count` layers, first layer first; None if they are not separate modules."""
    lists = (module for module in backbone.modules() if isinstance(module, nn.ModuleList))
    return next((layers for layers in lists if len(layers) == count), None)


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
    are trained as ever. Source: Gonzalez-Marquez et al. 2026, figure 4 (the last 2 of 12 layers have most of the
    gain). Raises: BadSpec if the encoder has fewer layers, or uses one layer several times.
    """

    preset: ClassVar = {"count": 2}
    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    adds_weights = False

    def __init__(self, count: Count, shape: Shape) -> None:
        self.count, self.layers = count, shape.layers
        if count > shape.layers:
            raise BadSpec(f"last_layers: count is {count}, this encoder has {shape.layers} layers; take no more")
        if (backbone := meta_backbone(shape.folder)) is not None and layers_of(backbone, shape.layers) is None:
            raise BadSpec(SHARED)

    def attach(self, encoder: Encoder) -> None:
        """Freeze the backbone except its last layers and the modules after them."""
        backbone = encoder.backbone
        layers = layers_of(backbone, self.layers)
        if layers is None:
            raise BadSpec(SHARED)
        backbone.requires_grad_(False)
        behind = [module for name, module in backbone.named_children() if name in AFTER]
        for module in (*layers[-self.count :], *behind):
            module.requires_grad_(True)
