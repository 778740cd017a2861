"""What is fitted on a subset's vectors after training, and applied to every vector at test."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.errors import BadSpec, between, whole
from cseb.parts import Shape

SHORTEST = 1e-8  # a vector below this length stays as it is


def whitening(vectors: Tensor, kept: int, shrink: float) -> tuple[Tensor, Tensor]:
    """Mean (D,) and map (D, kept) after which these vectors (N, D) have covariance 1, largest directions first.

    shrink: share of the mean variance that takes the place of the covariance. Source: Su et al. 2021, released code;
    Ledoit & Wolf 2004 for shrinkage.
    """
    vectors = vectors.double()
    mean = vectors.mean(dim=0)
    spread = torch.cov(vectors.T)
    level = spread.diagonal().mean() * torch.eye(len(spread), dtype=spread.dtype, device=spread.device)
    values, directions = torch.linalg.eigh((1 - shrink) * spread + shrink * level)
    values, directions = values.flip(0)[:kept], directions.flip(1)[:, :kept]
    return mean, directions * values.rsqrt()


class Whiten(nn.Module):
    """Vectors without the mean, every direction divided by its spread, of length 1.

    dimensions: how many of the largest directions are kept. shrink: see `whitening`; above 0, more directions than the
    subset has sentences can be kept. Source: Su et al. 2021 (BERT-whitening); released code. Raises: BadSpec on more
    dimensions than the encoder has.
    """

    def __init__(self, dimensions: int, shrink: float, shape: Shape) -> None:
        super().__init__()
        self.dimensions = whole(1, dimensions, "whiten: dimensions")
        self.shrink = between(0, 1, shrink, "whiten: shrink")
        if dimensions > shape.width:
            raise BadSpec(f"whiten: dimensions is {dimensions}, this encoder has {shape.width}; take no more than that")
        self.mean: Tensor
        self.map: Tensor
        self.register_buffer("mean", torch.zeros(shape.width))
        self.register_buffer("map", torch.eye(shape.width)[:, :dimensions])

    def fits(self, sentences: int) -> None:
        """Raises: BadSpec if the subset cannot tell that many directions."""
        if not self.shrink and self.dimensions >= sentences:
            raise BadSpec(
                f"whiten: dimensions is {self.dimensions}, and {sentences} sentences span fewer; take "
                f"+whiten(dimensions={max(sentences - 1, 1)}) or less, or +whiten(shrink=0.1)"
            )

    def fit(self, vectors: Tensor) -> None:
        """Learn mean and directions of the subset's vectors (N, D). Raises: BadSpec, see fits."""
        self.fits(len(vectors))
        for held, found in zip((self.mean, self.map), whitening(vectors, self.dimensions, self.shrink), strict=True):
            held.copy_(found)

    def forward(self, vectors: Tensor) -> Tensor:
        """(N, D) to (N, dimensions)."""
        return F.normalize((vectors - self.mean) @ self.map, dim=-1, eps=SHORTEST)
