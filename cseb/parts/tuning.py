"""Which weights of the encoder are trained."""

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
    """The list of a backbone's layers, `count` of them, first layer first; None where they are not one by one."""
    lists = (module for module in backbone.modules() if isinstance(module, nn.ModuleList))
    return next((one for one in lists if len(one) == count), None)


@lru_cache(maxsize=8)
def outline(folder: Path | None) -> nn.Module | None:
    """The backbone without its weights, by which a job is refused before it is built; None where it cannot be had."""
    if folder is None:
        return None
    try:
        with torch.device("meta"):
            backbone: nn.Module = AutoModel.from_config(AutoConfig.from_pretrained(folder))  # type: ignore[no-untyped-call]
    except Exception:  # code of its own may want permission, which is there by the time it is built
        return None
    return backbone


class LastLayers:
    """The last `count` layers are trained; embeddings and all layers before them stay as they are.

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
        if (backbone := outline(shape.folder)) is not None and layers_of(backbone, shape.layers) is None:
            raise BadSpec(SHARED)

    def attach(self, encoder: Encoder) -> None:
        """Freeze all weights of the backbone but those of its last layers and of what stands behind them."""
        backbone = encoder.backbone
        layers = layers_of(backbone, self.layers)
        if layers is None:
            raise BadSpec(SHARED)
        backbone.requires_grad_(False)
        behind = [module for name, module in backbone.named_children() if name in AFTER]
        for module in (*layers[-self.count :], *behind):
            module.requires_grad_(True)

    def plain(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The checkpoint as it is."""
        return dict(state)

    def detach(self, encoder: Encoder) -> None:
        """Nothing was added."""
