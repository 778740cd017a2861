"""Terms on the layers of the backbone."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from cseb.errors import BadSpec, above, between
from cseb.parts import LAYERS, Shape, Step
from cseb.precision import in_full

FACTORS = (0.25, 0.5, 1.0)  # of the lower, middle and upper layers. Source: released code of MSSE


@in_full
def neighbourhood(noised: Tensor, clean: Tensor, scale: float) -> Tensor:
    """-mean_j log sum_k exp(-|noised_j - clean_k|^2 / scale): large where sentences lie far apart. Both (B, D).

    Source: released code of MSSE.
    """
    distances = (noised[:, None] - clean[None, :]).square().sum(dim=-1)  # (B, B)
    return -(-distances / scale).logsumexp(dim=1).mean()


def groups(depth: int) -> tuple[slice, slice, slice]:
    """Lower, middle and upper of `depth` + 1 states: 0 to 3, 4 to 7 and 8 to 12 of BERT-base, in like shares else."""
    states = depth + 1
    first = max(4 * states // 13, 1)
    second = max(8 * states // 13, first + 1)
    return slice(0, first), slice(first, second), slice(second, states)


class LayerNoise(nn.Module):
    """First-token states of three groups of layers, spread out over the batch.

    Each group is averaged, noised with normal numbers of `deviation`, and compared with all sentences of the batch at
    `scale`. Looks at the first view. Source: the fourth term of MSSE's released code, in no text. Raises: BadSpec on an
    encoder of one layer.
    """

    needs: ClassVar[frozenset[str]] = frozenset({LAYERS})
    views: ClassVar[int] = 1

    def __init__(self, deviation: float, scale: float, shape: Shape) -> None:
        super().__init__()
        self.deviation = between(0, 1e6, deviation, "layer_noise: deviation")
        self.scale = above(0, scale, "layer_noise: scale")
        if shape.layers < 2:
            raise BadSpec(f"layer_noise: three groups of layers need 2 layers; this encoder has {shape.layers}")
        self.groups = groups(shape.layers)

    def forward(self, step: Step) -> Tensor:
        """Return a scalar in nats; smaller is further apart."""
        first = torch.stack([layer[:, 0] for layer in step.views[0].layers])  # (L + 1, B, D)
        spread = first.new_zeros(())
        for factor, group in zip(FACTORS, self.groups, strict=True):
            clean = first[group].mean(dim=0)
            noise = torch.randn(clean.shape, generator=step.rng, device=clean.device, dtype=clean.dtype)
            spread = spread + factor * neighbourhood(clean + self.deviation * noise, clean, self.scale)
        return -spread
