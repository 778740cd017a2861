"""CLSEP's head: three wide linear layers and a bottleneck."""

from __future__ import annotations

from typing import ClassVar

from torch import Tensor, nn

from cseb.encoder.interface import Shape
from cseb.methods.option_types import Count


class Paraphraser(nn.Module):
    """Linear, tanh, linear, tanh, linear, then through a bottleneck: linear, tanh, linear; in training only.

    inner: width of all layers but the bottleneck, and of what it gives. neck: width of the bottleneck. Layers start as
    torch has them. Source: Wang et al. 2023 (CLSEP), authors' code.
    """

    preset: ClassVar = {"inner": 4096, "neck": 512}  # CLSEP release
    keep = False

    def __init__(self, inner: Count, neck: Count, shape: Shape) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(shape.width, inner), nn.Tanh(), nn.Linear(inner, inner), nn.Tanh(), nn.Linear(inner, inner)),
            *(nn.Linear(inner, neck), nn.Tanh(), nn.Linear(neck, inner)),
        )

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, P)."""
        return self.layers(h)  # type: ignore[no-any-return]
