"""Contrast without probable false negatives, and with noise vectors as further negatives (DCLR)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import FROZEN
from cseb.methods.option_types import Between, Positive, Size
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.adversarial import steepest_direction
from cseb.parts.terms.infonce import cosines

NEAREST = 1 - 1e-6  # a probability of 1 would cost infinitely much


def softmax_bce(logits: Tensor, kept: Tensor) -> Tensor:
    """Return the logistic loss of softmax probabilities, 1 on the diagonal, averaged over all entries, in nats.

    logits: (B, N), N >= B. kept: (B, N), False sets a logit to 0 and does not take it out. Source: authors' code of
    DCLR.
    """
    probabilities = (logits * kept).softmax(dim=1)
    own = torch.eye(*logits.shape, dtype=torch.bool, device=logits.device)
    hits = (logits * kept).log_softmax(dim=1)[own].sum()
    return -(hits + torch.log1p(-probabilities[~own].clamp(max=NEAREST)).sum()) / logits.numel()


def weighted_nce(logits: Tensor, kept: Tensor) -> Tensor:
    """Return the cross-entropy of the diagonal among the entries that are kept, in nats. (B, N), (B, N).

    Source: Zhou et al. 2022 (DCLR), instance weighting with weights 0 and 1.
    """
    masked = logits.masked_fill(~kept, float("-inf"))
    return F.cross_entropy(masked, torch.arange(len(logits), device=logits.device))


Form = Literal["released", "weighted"]
FORMS: dict[Form, Callable[[Tensor, Tensor], Tensor]] = {"released": softmax_bce, "weighted": weighted_nce}


class DebiasedNCE(nn.Module):
    """First view against the second, without false negatives of a frozen model, with noise vectors as negatives.

    threshold: cosine of the frozen model above which a negative is taken for false. noise: noise vectors per sentence
    of the batch. ascents, size: steps by which they are moved to where they cost most. form: "released" or "weighted".
    Source: Zhou et al. 2022 (DCLR); authors' code.
    """

    preset: ClassVar = {  # DCLR release, BERT-base
        "temperature": 0.05,
        "threshold": 0.9,
        "noise": 1.0,
        "ascents": 4,
        "size": 1e-3,
        "form": "released",
    }
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset({FROZEN})
    views: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)

    def __init__(
        self,
        temperature: Positive,
        threshold: Annotated[float, Between(-1, 1)],
        noise: Annotated[float, Between(0, 100)],
        ascents: Size,
        size: Positive,
        form: Form,
    ) -> None:
        super().__init__()
        self.temperature = temperature
        self.threshold = threshold
        self.noise = noise
        self.ascents = ascents
        self.size = size
        self.form = form

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        left, right = (view.z for view in step.views[:2])
        batch = cosines(left, right) / self.temperature  # (B, B)
        noise = self.hardest(left.detach(), batch.detach(), step.rng)
        logits = torch.cat([batch, cosines(left, noise) / self.temperature], dim=1)
        kept = torch.ones_like(logits, dtype=torch.bool)
        kept[:, : len(left)] = cosines(*step.frozen[0][:2]) <= self.threshold
        kept.fill_diagonal_(True)
        return FORMS[self.form](logits, kept)

    def hardest(self, anchors: Tensor, batch: Tensor, rng: torch.Generator) -> Tensor:
        """Return noise vectors (M, P), constants, after gradient ascent. anchors: (B, P), batch: (B, B) logits."""
        rows = int(self.noise * len(anchors))
        noise = torch.randn(rows, anchors.shape[1], generator=rng, device=anchors.device).to(batch.dtype)
        labels = torch.arange(len(anchors), device=anchors.device)

        def cost(vectors: Tensor) -> Tensor:
            columns = cosines(anchors, vectors) / self.temperature
            return F.cross_entropy(torch.cat([batch, columns], dim=1), labels)

        for _ in range(self.ascents if rows else 0):
            noise = noise + self.size * steepest_direction(noise, cost)
        return noise
