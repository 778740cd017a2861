"""Removal of the main directions of the subset's vectors (SIF, all-but-the-top)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor, nn

from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count

EACH = 100  # coordinates for one direction that all-but-the-top takes out


def main_directions(vectors: Tensor, count: int, centre: bool) -> tuple[Tensor, Tensor]:
    """Return the mean (D,), zeros unless `centre`, and the main directions (D, count) of vectors (N, D) minus the mean.

    Source: Arora, Liang & Ma 2017 (SIF), authors' code: not centred; Mu & Viswanath 2018 (all-but-the-top): centred.
    """
    vectors = vectors.double()
    mean = vectors.mean(dim=0) if centre else vectors.new_zeros(vectors.shape[1])
    centred = vectors - mean
    _, directions = torch.linalg.eigh(centred.T @ centred)  # the largest last
    return mean, directions.flip(1)[:, :count]


class RemoveComponents(nn.Module):
    """Remove the main directions of the subset's vectors from every vector.

    count: how many directions; "hundredth" is one for every 100 coordinates, and at least one. centre: the subset's
    mean is taken off first, of every vector. Their length stays as it then is. Source: Arora, Liang & Ma 2017 (SIF):
    one direction, not centred, fitted on the very sentences of a task; Mu & Viswanath 2018 (all-but-the-top): centred,
    about a hundredth, of vectors of words. Here all is fitted on vectors of the training sentences. Raises: BadSpec if
    nothing would be left of a vector.
    """

    preset: ClassVar = {"count": 1, "centre": False}  # SIF
    requires: ClassVar[str] = "a fit afterwards"

    def __init__(self, count: Count | Literal["hundredth"], centre: bool, shape: Shape) -> None:
        super().__init__()
        self.count = max(shape.width // EACH, 1) if count == "hundredth" else count
        self.centre = centre
        if self.count >= shape.width:
            raise BadSpec(f"remove_components: count is {count}, of the encoder's {shape.width} directions; take fewer")
        self.mean: Tensor
        self.directions: Tensor
        self.register_buffer("mean", torch.zeros(shape.width))
        self.register_buffer("directions", torch.zeros(shape.width, self.count))

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if the subset spans no more directions than are removed."""
        if self.count >= (spanned := sentences - self.centre):
            raise BadSpec(
                f"remove_components: count is {self.count}, and {sentences} sentences span {max(spanned, 0)} at most; "
                "take more sentences, or fewer directions"
            )

    def fit(self, vectors: Tensor) -> None:
        """Learn mean and directions from the subset's vectors (N, D). Raises: BadSpec, see fits."""
        self.fits(len(vectors))
        mean, directions = main_directions(vectors, self.count, self.centre)
        self.mean, self.directions = mean.to(self.mean), directions.to(self.directions)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map (N, D) to (N, D)."""
        centred = vectors - self.mean
        return centred - centred @ self.directions @ self.directions.T

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        """Resize the buffers first: a head kept at test may change the width of the vectors."""
        for name in ("mean", "directions"):
            if (saved := state_dict.get(f"{prefix}{name}")) is not None:
                setattr(self, name, getattr(self, name).new_empty(saved.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)
