"""Maps fitted on the subset's vectors after training and applied to every vector at test."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor

from cseb.encoder.interface import Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import AtLeast, Count, Rate
from cseb.parts.base import ModulePart
from cseb.parts.terms.distillation import evenly_spaced

SHORTEST = 1e-8  # length by which shorter vectors are divided
EACH = 100  # coordinates for one direction that all-but-the-top removes
SPANNED = 1e-10  # of the largest variance; in directions with less there is only rounding
AT_ONCE = 256  # vectors whose rankings are made together


def whitening(vectors: Tensor, kept: int, shrink: float) -> tuple[Tensor, Tensor]:
    """Return the mean (D,) and the map (D, kept) that whitens vectors (N, D), largest directions first.

    shrink: fraction of the mean variance that takes the place of the covariance. Source: Su et al. 2021, authors' code;
    Ledoit & Wolf 2004 for shrinkage. Raises: BadSpec if the vectors span fewer directions.
    """
    vectors = vectors.double()
    mean = vectors.mean(dim=0)
    spread = torch.cov(vectors.T)
    level = spread.diagonal().mean() * torch.eye(len(spread), dtype=spread.dtype, device=spread.device)
    values, directions = torch.linalg.eigh((1 - shrink) * spread + shrink * level)
    if (spanned := int((values > SPANNED * values[-1]).sum())) < kept:
        raise BadSpec(
            f"whiten: dimensions is {kept}, and the vectors of the subset, in which sentences may repeat, span "
            f"{spanned}; take +whiten(dimensions={max(spanned, 1)}) or less, or +whiten(shrink=0.1)"
        )
    values, directions = values.flip(0)[:kept], directions.flip(1)[:, :kept]
    return mean, directions * values.rsqrt()


class FittedPost(ModulePart):
    """Base of maps fitted to the subset's vectors; a saved one brings the sizes of its buffers along."""

    requires: ClassVar[str] = "a fit afterwards"

    def _load_from_state_dict(self, state_dict: Mapping[str, Any], prefix: str, *rest: Any) -> None:
        for name, buffer in list(self.named_buffers(recurse=False)):
            if (saved := state_dict.get(f"{prefix}{name}")) is not None:
                setattr(self, name, buffer.new_empty(saved.shape))
        super()._load_from_state_dict(state_dict, prefix, *rest)


class Whiten(FittedPost):
    """Whitening: centred vectors, every direction divided by its standard deviation, of length 1.

    dimensions: how many of the largest directions are kept. shrink: see `whitening`; above 0, more directions than the
    subset has sentences can be kept. Source: Su et al. 2021 (BERT-whitening); authors' code. Raises: BadSpec on more
    dimensions than the encoder has.
    """

    # BERT-whitening release, its demo
    def __init__(self, dimensions: Count = 256, shrink: Rate = 0.0, *, shape: Shape) -> None:
        self.dimensions, self.shrink = dimensions, shrink
        if dimensions > shape.width:
            raise BadSpec(f"whiten: dimensions is {dimensions}, this encoder has {shape.width}; take no more than that")
        self.mean: Tensor
        self.map: Tensor
        self.register_buffer("mean", torch.zeros(shape.width))
        self.register_buffer("map", torch.eye(shape.width)[:, :dimensions])

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if the subset spans fewer directions than are kept."""
        if not self.shrink and self.dimensions >= sentences:
            raise BadSpec(
                f"whiten: dimensions is {self.dimensions}, and {sentences} sentences span fewer; take "
                f"+whiten(dimensions={max(sentences - 1, 1)}) or less, or +whiten(shrink=0.1)"
            )

    def fit(self, vectors: Tensor) -> None:
        self.fits(len(vectors))
        for buffer, value in zip((self.mean, self.map), whitening(vectors, self.dimensions, self.shrink), strict=True):
            buffer.copy_(value)

    def forward(self, vectors: Tensor) -> Tensor:
        return F.normalize((vectors - self.mean) @ self.map, dim=-1, eps=SHORTEST)


def average_ranks(values: Tensor) -> Tensor:
    """Return the rank of every value in its row, from 0; ties share their mean rank. (B, N) to (B, N)."""
    ordered, values = values.sort(dim=1).values, values.contiguous()
    below, not_above = (torch.searchsorted(ordered, values, right=right) for right in (False, True))
    return (below + not_above - 1).to(values.dtype) / 2


class RankMix(FittedPost):
    """Weighted sum of cosine and rank correlation, as the inner product of extended vectors.

    The second one is Spearman's, of the cosines to the sentences of the subset: the inner product of centred ranks of
    length 1. So the score of a pair is exact, and a vector has as many further coordinates as there are sentences;
    other tasks than rated pairs see them too. cosine: weight of the first summand, the second has what is left of 1.
    corpus: how many sentences of the subset at most are ranked. Source: Seonwoo et al. 2023 (RankEncoder), eq. 7.
    """

    # RankEncoder, eq. 7; corpus of the authors' scripts
    def __init__(self, cosine: Rate = 0.9, corpus: Annotated[int, AtLeast(2)] = 10_000, *, shape: Shape) -> None:
        self.cosine, self.size = cosine, corpus
        self.corpus: Tensor
        self.register_buffer("corpus", torch.zeros(0, shape.width))

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if there are fewer than two sentences."""
        if sentences < 2:
            raise BadSpec(f"rank_mix: too few sentences to rank, {sentences}; take more, or take rank_mix out")

    def fit(self, vectors: Tensor) -> None:
        """Keep the subset's vectors (N, D), or evenly spaced ones of them. Raises: BadSpec, see fits."""
        self.fits(len(vectors))
        self.corpus = evenly_spaced(vectors, self.size)

    def forward(self, vectors: Tensor) -> Tensor:
        """Map (N, D) to (N, D + C), of length 1, C being the number of ranked sentences."""
        extended = vectors.new_empty(len(vectors), sum(self.corpus.shape))
        for rows in torch.split(torch.arange(len(vectors)), AT_ONCE):
            plain = F.normalize(vectors[rows], dim=-1)
            ranks = average_ranks(plain @ self.corpus.T)
            ranks = F.normalize(ranks - ranks.mean(dim=1, keepdim=True), dim=-1)
            extended[rows] = torch.cat([math.sqrt(self.cosine) * plain, math.sqrt(1 - self.cosine) * ranks], dim=-1)
        return extended


def main_directions(vectors: Tensor, count: int, centre: bool) -> tuple[Tensor, Tensor]:
    """Return the mean (D,), 0 unless `centre`, and the main directions (D, count) of vectors (N, D) minus that."""
    vectors = vectors.double()
    mean = vectors.mean(dim=0) if centre else vectors.new_zeros(vectors.shape[1])
    centred = vectors - mean
    _, directions = torch.linalg.eigh(centred.T @ centred)  # the largest last
    return mean, directions.flip(1)[:, :count]


class RemoveComponents(FittedPost):
    """Remove the main directions of the subset's vectors from every vector.

    count: how many directions; "hundredth" is one for every 100 coordinates, and at least one. centre: the subset's
    mean is subtracted first. Lengths are not normalised. Source: Arora, Liang & Ma 2017 (SIF):
    one direction, not centred, fitted on the very sentences of a task; Mu & Viswanath 2018 (all-but-the-top): centred,
    about a hundredth, of vectors of words. Here all is fitted on vectors of the training sentences. Raises: BadSpec if
    nothing would be left of a vector.
    """

    # SIF
    def __init__(self, count: Count | Literal["hundredth"] = 1, centre: bool = False, *, shape: Shape) -> None:
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
        self.fits(len(vectors))
        mean, directions = main_directions(vectors, self.count, self.centre)
        self.mean, self.directions = mean.to(self.mean), directions.to(self.directions)

    def forward(self, vectors: Tensor) -> Tensor:
        centred = vectors - self.mean
        return centred - centred @ self.directions @ self.directions.T
