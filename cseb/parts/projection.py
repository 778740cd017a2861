"""A map to the width of a teacher, kept at test."""

from __future__ import annotations

from typing import ClassVar, Literal

from torch import Tensor, nn, tanh

from cseb.encoder.interface import Shape
from cseb.methods.option_types import Count
from cseb.parts.heads import new_linear


class Project(nn.Module):
    """W h + b, of `width` numbers, and tanh of it if asked for; vectors at test have that width too.

    activation: "tanh", which bounds every number by 1, or "none". Source: Limkonchotiwat et al. 2022 (ConGen), its
    authors' code: a linear layer to the teacher's width and tanh, behind mean pooling.
    """

    preset: ClassVar = {"width": 1024, "activation": "tanh"}  # ConGen release, its RoBERTa-large
    keep = True

    def __init__(self, width: Count, activation: Literal["tanh", "none"], shape: Shape) -> None:
        super().__init__()
        self.dense, self.activation = new_linear(shape.width, width), activation

    def forward(self, h: Tensor) -> Tensor:
        """(B, D) to (B, width)."""
        found: Tensor = self.dense(h)
        return tanh(found) if self.activation == "tanh" else found
