"""Terms on the layers of the backbone."""

from __future__ import annotations

from typing import Annotated, ClassVar

import torch
from torch import Tensor

from cseb.encoder.autocast import in_full
from cseb.encoder.interface import LAYERS
from cseb.errors import BadSpec
from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm

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
