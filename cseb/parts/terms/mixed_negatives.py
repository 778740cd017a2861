"""Contrast with hard negatives mixed from the positive and another sentence (MixCSE)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.methods.option_types import Between, Positive
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.terms.infonce import cosines, info_nce


def mix_neighbours(vectors: Tensor, weight: float) -> Tensor:
    """Return each vector times `weight` plus the next one, cyclically, times the remainder; constants. (B, D)."""
    return (weight * vectors + (1 - weight) * vectors.roll(-1, dims=0)).detach()


def mixed_info_nce_released(left: Tensor, right: Tensor, temperature: float, weight: float) -> Tensor:
    """Return the loss with positives, their mixtures, and the anchors' mixtures against the positives; in nats.

    left, right: (B, D). A mixture that holds more of the anchor's own sentence counts with logit 0. Source: authors'
    code of MixCSE.
    """
    batch = len(left)
    own = torch.eye(batch, dtype=torch.bool, device=left.device)
    blocks = [
        cosines(left, right),
        cosines(left, mix_neighbours(right, weight)).masked_fill(
            own.roll(-1, dims=1), 0.0
        ),  # mixture i - 1 holds sentence i
        cosines(mix_neighbours(left, weight), right).masked_fill(own.roll(1, dims=1), 0.0),
    ]
    return F.cross_entropy(torch.cat(blocks, dim=1) / temperature, torch.arange(batch, device=left.device))


def mixed_info_nce_paper(left: Tensor, right: Tensor, temperature: float, weight: float) -> Tensor:
    """Return the loss with one mixture of the positive and the next one, as unit vectors, per anchor; in nats.

    left, right: (B, D). Source: Zhang et al. 2022 (MixCSE).
    """
    mixture = mix_neighbours(F.normalize(right, dim=-1), weight)
    negative = F.cosine_similarity(left, mixture, dim=-1)[:, None]  # (B, 1)
    logits = torch.cat([cosines(left, right), negative], dim=1) / temperature
    return F.cross_entropy(logits, torch.arange(len(left), device=left.device))


Form = Literal["released", "paper"]
FORMS: dict[Form, Callable[[Tensor, Tensor, float, float], Tensor]] = {
    "released": mixed_info_nce_released,
    "paper": mixed_info_nce_paper,
}


class MixedInfoNCE(nn.Module):
    """First view against the second of every sentence, and against mixtures of the batch's vectors.

    mix: weight of the positive in its mixture. form: "released" or "paper". Source: Zhang et al. 2022 (MixCSE).
    """

    preset: ClassVar = {"temperature": 0.05, "mix": 0.2, "form": "released"}  # MixCSE release
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", views=2)

    def __init__(self, temperature: Positive, mix: Annotated[float, Between(0, 0.5)], form: Form) -> None:
        super().__init__()
        self.temperature = temperature
        self.mix = mix
        self.form = form

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        left, right = step.views[0].z, step.views[1].z
        if len(left) == 1:  # nothing to mix with
            return info_nce(left, right, self.temperature)
        return FORMS[self.form](left, right, self.temperature, self.mix)
