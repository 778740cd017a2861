"""Contrasts that discount probable false negatives: DCLR, GISTEmbed, GCSE and the last stage of MultiCSR."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import torch
from torch import Tensor

from cseb.encoder.interface import FROZEN
from cseb.methods.option_types import Between, Positive, Rate, Size
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import LossTerm, TeacherTerm
from cseb.parts.terms.adversarial import steepest_direction
from cseb.parts.terms.infonce import cosines, diagonal, match_loss, row_cosines

NEAREST = 1 - 1e-6  # a probability of 1 would have an infinite loss

Cosine = Annotated[float, Between(-1, 1)]
Sides = tuple[Tensor, ...]  # vectors of anchors, positives and, where there are any, hard negatives: (B, D) each


def softmax_bce(logits: Tensor, kept: Tensor) -> Tensor:
    """Return the logistic loss of softmax probabilities, 1 on the diagonal, averaged over all entries, in nats.

    logits: (B, N), N >= B. kept: (B, N), False sets a logit to 0 and does not remove it. Source: authors' code of DCLR.
    """
    logits = logits * kept
    own = diagonal(logits)
    hits = logits.log_softmax(dim=1)[own].sum()
    return -(hits + torch.log1p(-logits.softmax(dim=1)[~own].clamp(max=NEAREST)).sum()) / logits.numel()


def weighted_nce(logits: Tensor, kept: Tensor) -> Tensor:
    """Return the cross-entropy of the diagonal among the entries that are kept, in nats. (B, N), (B, N)."""
    return match_loss(logits.masked_fill(~kept, float("-inf")))


class DebiasedNCE(TeacherTerm):
    """First view against the second, without false negatives of a frozen model, with noise vectors as negatives.

    threshold: cosine of the frozen model above which a negative counts as false. noise: noise vectors per sentence of
    the batch. ascents, size: gradient steps by which they are moved to a higher loss, and their length. form:
    "released" or "weighted", instance weighting with 0 and 1. Source: Zhou et al. 2022 (DCLR); authors' code.
    """

    version: ClassVar[int] = 2
    reads: ClassVar[Reads] = reads("z", "frozen", views=2, models=1)
    temperature: Positive = 0.05  # DCLR release, BERT-base
    threshold: Cosine = 0.9
    noise: Annotated[float, Between(0, 100)] = 1.0
    ascents: Size = 4
    size: Positive = 1e-3
    form: Literal["released", "weighted"] = "released"

    def forward(self, step: LossInputs) -> Tensor:
        left, right = (view.z for view in step.views[:2])
        batch = cosines(left, right) / self.temperature  # (B, B)
        noise = self.hardest(left.detach(), batch.detach(), step.rng)
        logits = torch.cat([batch, cosines(left, noise) / self.temperature], dim=1)
        kept = torch.ones_like(logits, dtype=torch.bool)
        kept[:, : len(left)] = cosines(*step.frozen[0][:2]) <= self.threshold
        kept.fill_diagonal_(True)
        return softmax_bce(logits, kept) if self.form == "released" else weighted_nce(logits, kept)

    def hardest(self, anchors: Tensor, batch: Tensor, rng: torch.Generator) -> Tensor:
        """Return noise vectors (M, P), constants, after gradient ascent. anchors: (B, P), batch: (B, B) logits."""
        rows = int(self.noise * len(anchors))
        noise = torch.randn(rows, anchors.shape[1], generator=rng, device=anchors.device).to(batch.dtype)

        def loss(vectors: Tensor) -> Tensor:
            return match_loss(torch.cat([batch, cosines(anchors, vectors) / self.temperature], dim=1))

        for _ in range(self.ascents if rows else 0):
            noise = noise + self.size * steepest_direction(noise, loss)
        return noise


def decay(logits: Tensor, frozen: Tensor, alpha: float) -> Tensor:
    """Return own hard negatives' logits (B,), decayed towards 0 where the frozen model's (B,) are as high or higher.

    z > b stays z; else it becomes z - z exp(-(z - b)^2 / (2 alpha^2)), whose second summand is a constant: the gradient
    is that of z.
    """
    gap = logits.detach() - frozen
    decay = logits.detach() * torch.exp(-gap.square() / (2 * alpha**2))
    return logits - decay.where(gap <= 0, torch.zeros_like(decay))


def gaussian_nce(
    anchors: Tensor, positives: Tensor, negatives: Tensor, frozen: Tensor, temperature: float, alpha: float
) -> Tensor:
    """Return the cross-entropy of the positive among positives and hard negatives (B, D), own hard negatives decayed.

    frozen: (B,) the frozen model's cosines of anchors and their own hard negatives.
    """
    logits = cosines(anchors, torch.cat([positives, negatives])) / temperature  # (B, 2 B)
    own = torch.arange(len(anchors), device=logits.device)
    hard = decay(logits[own, len(own) + own], frozen / temperature, alpha)
    return match_loss(logits.index_put((own, len(own) + own), hard))


class TriplesTeacherTerm(TeacherTerm):
    """A loss term that reads a frozen teacher's vectors of anchors, positives and hard negatives."""

    views: ClassVar[int] = 3
    hard_frozen: ClassVar[bool] = True
    reads: ClassVar[Reads] = reads("z", "frozen", views=3, models=1)


class GaussianNCE(TriplesTeacherTerm):
    """First view against the second and third; an own hard negative that may be false counts less.

    alpha: width of the decay, on the scale of cosine over temperature: 0.17 is a very narrow band, 8.58 (RoBERTa) a
    wide one. A frozen model gives the similarity of anchor and hard negative; where the encoder's is as low or a little
    lower, they no longer repel each other. Source: Lai et al. 2024 (GCSE), authors' code.
    """

    temperature: Positive = 0.05  # GCSE release, BERT
    alpha: Positive = 0.17

    def forward(self, step: LossInputs) -> Tensor:
        anchors, positives, negatives = (view.z for view in step.views[:3])
        frozen = row_cosines(step.frozen[0][0], step.frozen[0][2])
        return gaussian_nce(anchors, positives, negatives, frozen, self.temperature, self.alpha)


def filtered_bce(views: Sides, frozen: Sides, temperature: float, threshold: float) -> Tensor:
    """Return the logistic loss of the softmax over positives and hard negatives, filtered ones at logit 0, in nats.

    views, frozen: anchors, positives and hard negatives (B, D) of the encoder and of the frozen model. A negative whose
    cosine the frozen model finds above the threshold stays in the softmax as exp(0) = 1.
    """
    logits = cosines(views[0], torch.cat(views[1:])) / temperature  # (B, 2 B)
    kept = cosines(frozen[0], torch.cat(frozen[1:])) <= threshold
    kept.fill_diagonal_(True)
    return softmax_bce(logits, kept)


class FilteredBCE(TriplesTeacherTerm):
    """First view against the second and third, without negatives that a frozen model finds too similar.

    threshold: cosine of the frozen model above which a negative is filtered. Source: Wang et al. 2024 (MultiCSR),
    authors' code, stage 3.
    """

    temperature: Positive = 0.05  # MultiCSR release, its example
    threshold: Cosine = 0.95

    def forward(self, step: LossInputs) -> Tensor:
        views = tuple(view.z for view in step.views[:3])
        return filtered_bce(views, tuple(step.frozen[0][:3]), self.temperature, self.threshold)


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
    own = similarity.diagonal()  # (B,)
    threshold = own - (margin if strategy == "absolute" else margin * own.abs())
    closer = similarity > threshold[:, None]
    same = diagonal(closer[:, :batch])
    closer[:, :batch] &= ~same
    for block in range(1, 1 + anchors + positives):
        closer[:, block * batch : (block + 1) * batch] |= same
    return closer


def guided_nce(views: Sides, out: Tensor, temperature: float, anchors: bool, positives: bool) -> Tensor:
    """Return the cross-entropy of the positive among the candidates that are not left `out` (B, C), in nats."""
    return match_loss((columns(views, anchors, positives) / temperature).masked_fill(out, float("-inf")))


class GuidedNCE(LossTerm):
    """First view against the second, and both among themselves, without negatives that a guide finds too close.

    guide: "self", the encoder's own cosines of this step, through which no gradient flows, or "teacher", the frozen one
    of the method's stage. margin, strategy: see `left_out`; two renderings of one text are equal to a teacher, so
    without a margin it leaves nothing out. anchors, positives: whether they are negatives of one another. Hard
    negatives count where the guide has their vectors. Source: Solatorio 2024 (GISTEmbed); guide "self" is ours.
    """

    version: ClassVar[int] = 2
    temperature: Positive = 0.05  # the authors' code has 0.01; 0.05 is SimCSE's
    guide: Literal["self", "teacher"] = "self"
    margin: Rate = 0.0
    strategy: Literal["absolute", "relative"] = "absolute"
    anchors: bool = True
    positives: bool = True

    def __post_init__(self) -> None:
        teacher = self.guide == "teacher"
        self.needs = frozenset({FROZEN} if teacher else ())  # type: ignore[misc]
        self.reads = reads("z", *(["frozen"] if teacher else []), views=3, models=int(teacher))

    def forward(self, step: LossInputs) -> Tensor:
        views = tuple(view.z for view in step.views[:3])
        guide = tuple(step.frozen[0]) if self.guide == "teacher" else tuple(z.detach() for z in views)
        common = min(len(views), len(guide))
        out = left_out(guide[:common], self.margin, self.strategy, self.anchors, self.positives)
        return guided_nce(views[:common], out, self.temperature, self.anchors, self.positives)
