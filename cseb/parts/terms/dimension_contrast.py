"""Terms on the dimensions of the embedding space, and noise on the layers of the backbone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from cseb.encoder.device_batches import in_full
from cseb.encoder.interface import LAYERS
from cseb.errors import BadSpec
from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm
from cseb.parts.terms.infonce import off_diagonal, row_cosines

SMALLEST = 1e-6  # deviation of a dimension, since some never change


@in_full
def correlations(left: Tensor, right: Tensor, centre: bool, deviation: str = "population") -> Tensor:
    """Return the correlations (D, D), over the batch, of the dimensions of one view with those of the other.

    left, right: (B, D). Returns (D, D): Pearson's with centre, else cosines of columns. In float32 or better.
    deviation "unbiased": divided by the deviation over B - 1, with 1e-6 added, and then by B, so that equal views have
    (B - 1) / B on the diagonal. Source: MSSE, eq. 3; Zbontar et al. 2021, eq. 2; authors' code of MSSE for "unbiased".
    """
    if centre:
        left, right = left - left.mean(dim=0), right - right.mean(dim=0)
    if deviation == "unbiased":
        free = max(len(left) - 1, 1) ** 0.5
        left, right = (columns / (columns.norm(dim=0) / free + SMALLEST) for columns in (left, right))
        return left.T @ right / len(left)
    size = len(left) ** 0.5
    left = left / (left.norm(dim=0) / size).clamp(min=SMALLEST) / size
    right = right / (right.norm(dim=0) / size).clamp(min=SMALLEST) / size
    return left.T @ right


def dcm_balanced(matrix: Tensor) -> Tensor:
    """Return 2 mean (C_ii - 1)^2 + 0.05 mean of the other C_ij^2. Source: MSSE's code."""
    off = off_diagonal(matrix).square().sum() / max(matrix.numel() - len(matrix), 1)
    return 2 * (matrix.diagonal() - 1).square().mean() + 0.05 * off


def dcm_sum(matrix: Tensor) -> Tensor:
    """Return the sum of (C_ij - [i = j])^2. Source: MSSE, eq. 4."""
    return (matrix.diagonal() - 1).square().sum() + off_diagonal(matrix).square().sum()


Form = Literal["balanced", "sum", "per_dimension", "per_element"]
FORMS: dict[Form, Callable[[Tensor], Tensor]] = {
    "balanced": dcm_balanced,
    "sum": dcm_sum,
    "per_dimension": lambda matrix: dcm_sum(matrix) / len(matrix),  # MSSE, eq. 2
    "per_element": lambda matrix: dcm_sum(matrix) / matrix.numel(),
}


class DCM(LossTerm):
    """Dimensions correlate with themselves across views and with no other dimension.

    form: reduction of the correlation matrix; its weight means something only together with it. centre: standardise
    columns as in the authors' code; False is eq. 3 read to the letter. deviation: "population" or, as released,
    "unbiased". on: "h", the pooled vectors, or "first", the last layer's first token, as released.
    Source: MSSE, eq. 2 to 4. Raises: BadSpec on an unbiased deviation from no centre.
    """

    preset: ClassVar = {"weight": 0.2}  # MSSE: the authors' form and weight, on the pooled vectors
    form: Form = "balanced"
    centre: bool = True
    deviation: Literal["population", "unbiased"] = "population"
    on: Literal["h", "first"] = "h"

    def __post_init__(self) -> None:
        self.needs = frozenset({LAYERS} if self.on == "first" else ())  # type: ignore[misc]  # of this one alone
        self.reads = reads("layers" if self.on == "first" else "h", views=2)
        if self.deviation == "unbiased" and not self.centre:
            raise BadSpec("dcm: deviation=unbiased is taken from the column's mean; it needs centre=true")

    def forward(self, step: LossInputs) -> Tensor:
        left, right = (view.h if self.on == "h" else view.layers[-1][:, 0] for view in step.views[:2])
        return FORMS[self.form](correlations(left, right, self.centre, self.deviation))


class CrossCorrelation(LossTerm):
    """Sum of (C_ii - 1)^2 and off_diagonal times that of the other C_ij^2, C correlating coordinates after the head.

    Source: Klein & Nabi 2022 (SCD), decorrelation; authors' code for the sums; Zbontar et al. 2021, eq. 1 and 2.
    """

    preset: ClassVar = {"weight": 0.005225}  # SCD release, BERT-base
    reads: ClassVar[Reads] = reads("z", views=2)
    off_diagonal: Annotated[float, Between(0, 1000000.0)] = 0.012

    def forward(self, step: LossInputs) -> Tensor:
        matrix = correlations(step.views[0].z, step.views[1].z, centre=True)
        diagonal = matrix.diagonal()
        others = matrix.square().sum() - diagonal.square().sum()
        return (diagonal - 1).square().sum() + self.off_diagonal * others


class MeanCos(LossTerm):
    """Mean cosine of a sentence's two pooled vectors over the temperature: repels the views.

    Source: Klein & Nabi 2022 (SCD), self-contrast; the temperature is the authors' code's.
    """

    reads: ClassVar[Reads] = reads("h", views=2)
    temperature: Positive = 0.05  # SCD release

    def forward(self, step: LossInputs) -> Tensor:
        return row_cosines(step.views[0].h, step.views[1].h).mean() / self.temperature


FACTORS = (0.25, 0.5, 1.0)  # of the lower, middle and upper layers. Source: authors' code of MSSE


@in_full
def neighbourhood(noised: Tensor, clean: Tensor, scale: float) -> Tensor:
    """Return -mean_j log sum_k exp(-|noised_j - clean_k|^2 / scale): large for distant sentences. Both (B, D)."""
    distances = (noised[:, None] - clean[None, :]).square().sum(dim=-1)  # (B, B)
    return -(-distances / scale).logsumexp(dim=1).mean()


def groups(depth: int) -> tuple[slice, slice, slice]:
    """Return thirds of `depth` + 1 states, embeddings first: 0-3, 4-7 and 8-12 of BERT-base.

    0-7, 8-15 and 16-24 of 24 layers. Source: authors' code of MSSE.
    """
    states = depth + 1
    third = states // 3
    return slice(0, third), slice(third, 2 * third), slice(2 * third, states)


class LayerNoise(EncoderPart, LossTerm):
    """First-token states of three groups of layers, spread over the batch.

    Each group is averaged, noised with normal numbers of `deviation`, and compared with all sentences of the batch at
    `scale`. It reads the first view. Source: the fourth term of MSSE's code, in no text. Raises: BadSpec on an
    encoder of one layer.
    """

    preset: ClassVar = {"weight": 0.8}  # MSSE release, in no text
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("layers", views=1)
    deviation: Annotated[float, Between(0, 1e6)] = 0.01
    scale: Positive = 20.0

    def __post_init__(self) -> None:
        if (depth := self.shape.layers) < 2:
            raise BadSpec(f"layer_noise: three groups of layers need 2 layers; this encoder has {depth}")
        self.groups = groups(depth)

    def forward(self, step: LossInputs) -> Tensor:
        first = torch.stack([layer[:, 0] for layer in step.views[0].layers])  # (L + 1, B, D)
        spread = first.new_zeros(())
        for factor, group in zip(FACTORS, self.groups, strict=True):
            clean = first[group].mean(dim=0)
            noise = torch.randn(clean.shape, generator=step.rng, device=clean.device, dtype=clean.dtype)
            spread = spread + factor * neighbourhood(clean + self.deviation * noise, clean, self.scale)
        return -spread
