"""Contrast without the negatives that a guide model finds too similar (GISTEmbed)."""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from cseb.encoder.interface import FROZEN
from cseb.methods.option_types import Positive, Rate
from cseb.parts import LossInputs, reads
from cseb.parts.terms.infonce import cosines

Sides = tuple[Tensor, ...]  # vectors of anchors, positives and, where there are any, hard negatives: (B, D) each


def columns(views: Sides, anchors: bool, positives: bool) -> Tensor:
    """Return cosines (B, C) with all candidates: positives, anchors, positives to positives, hard negatives."""
    first, second, *hard = views
    blocks = [cosines(first, second)]
    blocks += [cosines(first, first)] if anchors else []
    blocks += [cosines(second, second)] if positives else []
    return torch.cat([*blocks, *(cosines(first, negatives) for negatives in hard)], dim=1)


def left_out(guide: Sides, margin: float, strategy: str, anchors: bool, positives: bool) -> Tensor:
    """Return a mask (B, C) of excluded candidates: those the guide finds closer than the row's positive.

    margin: subtracted from the positive's cosine; with strategy "relative", a fraction of its absolute value. The
    positive's cosine is the diagonal of the same matrix, so that copies of the positive have exactly its value and
    stay. A row's own positive stays, and its own text among anchors and positives is always left out. Source:
    Solatorio 2024, authors' code; there a text beside itself stays where the guide sees two equal texts.
    """
    similarity = columns(guide, anchors, positives)
    batch = len(similarity)
    own = similarity[:, :batch].diagonal()  # (B,)
    threshold = own - (margin if strategy == "absolute" else margin * own.abs())
    closer = similarity > threshold[:, None]
    same = torch.eye(batch, dtype=torch.bool, device=similarity.device)
    closer[:, :batch] &= ~same
    for block in range(1, 1 + anchors + positives):
        closer[:, block * batch : (block + 1) * batch] |= same
    return closer


def guided_nce(views: Sides, out: Tensor, temperature: float, anchors: bool, positives: bool) -> Tensor:
    """Return the cross-entropy of the positive among the candidates that are not left `out` (B, C), in nats.

    Source: Solatorio 2024, its authors' code.
    """
    logits = (columns(views, anchors, positives) / temperature).masked_fill(out, float("-inf"))
    return F.cross_entropy(logits, torch.arange(len(logits), device=logits.device))


class GuidedNCE(nn.Module):
    """First view against the second, and both among themselves, without negatives that a guide finds too close.

    guide: "self", the encoder's own cosines of this step, through which no gradient goes, or "teacher", the frozen one
    of the method's stage. margin, strategy: see `left_out`; two renderings of one text are equal to a teacher, so
    without a margin it leaves nothing out. anchors, positives: whether they are negatives of one another. Hard
    negatives count where the guide has seen them. Source: Solatorio 2024 (GISTEmbed); guide "self" is ours.
    """

    preset: ClassVar = {  # the authors' code has 0.01; 0.05 is SimCSE's
        "temperature": 0.05,
        "guide": "self",
        "margin": 0.0,
        "strategy": "absolute",
        "anchors": True,
        "positives": True,
    }
    version: ClassVar[int] = 2
    needs: ClassVar[frozenset[str]] = frozenset()
    views: ClassVar[int] = 2

    def __init__(
        self,
        temperature: Positive,
        guide: Literal["self", "teacher"],
        margin: Rate,
        strategy: Literal["absolute", "relative"],
        anchors: bool,
        positives: bool,
    ) -> None:
        super().__init__()
        self.temperature, self.guide, self.margin, self.strategy = temperature, guide, margin, strategy
        self.anchors, self.positives = anchors, positives
        if guide == "teacher":
            self.needs = frozenset({FROZEN})  # type: ignore[misc]  # of this one alone
        self.reads = reads("z", *(["frozen"] if guide == "teacher" else []), views=3, models=guide == "teacher")

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats."""
        views = tuple(view.z for view in step.views[:3])
        guide = tuple(step.frozen[0]) if self.guide == "teacher" else tuple(z.detach() for z in views)
        seen = min(len(views), len(guide))
        out = left_out(guide[:seen], self.margin, self.strategy, self.anchors, self.positives)
        return guided_nce(views[:seen], out, self.temperature, self.anchors, self.positives)
