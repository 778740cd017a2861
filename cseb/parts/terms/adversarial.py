"""Adversarial views: the vector moved to its hardest place (VaSCL), masks on tokens and features (L2P-CSR)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Generator, Tensor, nn

from cseb.encoder.device_batches import in_full, products
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EMBEDDINGS
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Positive, Rate, Size
from cseb.parts import LossInputs, Reads, reads
from cseb.parts.base import EncoderPart, LossTerm, check_embedding_width
from cseb.parts.terms.infonce import info_nce
from cseb.parts.tuning import layers_of, meta_backbone


def steepest_direction(point: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
    """Return rows (N, D) of length 1 along which `loss` of `point` (N, D) grows fastest; 0 where it is flat.

    The gradient is one of the point alone, and the result is a constant. Source: Zhang et al. 2022 (VaSCL) and Zhou et
    al. 2022 (DCLR); authors' code.
    """
    with torch.enable_grad():
        start = point.detach().requires_grad_()
        gradient: Tensor = torch.autograd.grad(loss(start), start)[0]
    return F.normalize(gradient.nan_to_num(), dim=-1)


def neighbourhood(vectors: Tensor, count: int) -> Tensor:
    """Return indices (B, k) of the nearest others of vectors (B, D) by dot product, k = min(count, B - 1)."""
    nearness = products(vectors, vectors).fill_diagonal_(float("-inf"))
    return nearness.topk(min(count, len(vectors) - 1), dim=1).indices


@in_full
def neighbour_nce(left: Tensor, right: Tensor, neighbours: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of row i of `left` for row i of `right` among the neighbours' rows of `left`, in nats.

    left, right: (B, P). neighbours: (B, k). Source: Zhang et al. 2022 (VaSCL), loss of the inner step; authors' code.
    """
    own = (left * right).sum(dim=1, keepdim=True)  # (B, 1)
    others = torch.einsum("bp,bkp->bk", right, left[neighbours])
    logits = torch.cat([own, others], dim=1) / temperature
    return F.cross_entropy(logits, torch.zeros(len(logits), dtype=torch.long, device=logits.device))


@in_full
def nt_xent_knn(left: Tensor, right: Tensor, neighbours: Tensor, temperature: float) -> Tensor:
    """Return the cross-entropy of every row's counterpart among both sides' neighbours, over 2 B anchors, in nats.

    left, right: (B, P). neighbours: (B, k). Source: Zhang et al. 2022 (VaSCL), neighbourhood-guided contrast.
    """
    both = torch.cat([left[neighbours], right[neighbours]], dim=1)  # (B, 2 k, P)
    own = (left * right).sum(dim=1, keepdim=True)
    logits = [torch.cat([own, torch.einsum("bp,bkp->bk", side, both)], dim=1) for side in (left, right)]
    stacked = torch.cat(logits) / temperature
    return F.cross_entropy(stacked, torch.zeros(len(stacked), dtype=torch.long, device=stacked.device))


class VirtualNTXent(LossTerm):
    """The first view against its adversarial view, with its nearest sentences of the batch as the only negatives.

    neighbours: how many at most. reach: length of the push. detach: the encoder gets no gradient, only the head does,
    as released; False trains it, as described. Source: Zhang et al. 2022 (VaSCL); authors' code.
    """

    version: ClassVar[int] = 2
    views: ClassVar[int] = 1
    reads: ClassVar[Reads] = reads("h", "head", views=1)
    temperature: Positive = 0.05  # VaSCL release
    neighbours: Count = 16
    reach: Positive = 15.0
    detach: bool = True

    def forward(self, step: LossInputs) -> Tensor:
        """Return a scalar in nats, 0 for a sentence alone."""
        assert step.head is not None
        h = step.views[0].h
        if len(h) == 1:
            return step.views[0].z.sum() * 0
        head, fixed = step.head, h.detach()
        neighbours = neighbourhood(fixed, self.neighbours)
        anchors = F.normalize(head(fixed if self.detach else h), dim=-1)
        anchors = anchors.detach() if self.detach else anchors
        noise = torch.rand(fixed.shape, generator=step.rng, device=fixed.device) - 0.5
        start = F.normalize(noise, dim=-1).to(fixed.dtype)

        def identification_loss(push: Tensor) -> Tensor:
            moved = F.normalize(head(fixed + self.reach * push), dim=-1)
            return neighbour_nce(anchors.detach(), moved, neighbours, self.temperature)

        worst = steepest_direction(start, identification_loss).to(fixed.dtype)
        virtual = F.normalize(head((fixed if self.detach else h) + self.reach * worst), dim=-1)
        return nt_xent_knn(anchors, virtual, neighbours, self.temperature)


def ascent_step(scores: Tensor, gradient: Tensor, size: float) -> Tensor:
    """Return scores after a step along the gradient of length `size` over the last axis, clamped to [0, 1].

    Where the last axis has one number, that is a step of exactly `size` in the direction of its sign. Source: Zhou et
    al. 2023 (L2P-CSR); authors' code, where a gradient of 0 is 0 / 0.
    """
    moved: Tensor = scores + size * gradient / gradient.norm(dim=-1, keepdim=True)
    return moved.clamp(0, 1).nan_to_num(nan=1.0)


def binary_mask(scores: Tensor, threshold: float) -> Tensor:
    """Return 1 where a score is above the threshold, else 0."""
    return (scores > threshold).to(scores.dtype)


@contextmanager
def multiplied(modules: Sequence[nn.Module], factors: Sequence[Tensor]) -> Iterator[None]:
    """Multiply the states (N, T, D) that leave each module by its factors within this context."""
    with ExitStack() as hooks:
        for module, factor in zip(modules, factors, strict=True):
            hooks.enter_context(module.register_forward_hook(partial(_times, factor)))
        yield


def _times(factor: Tensor, module: nn.Module, inputs: Any, left: Any) -> Any:
    if isinstance(left, Tensor):
        return left * factor.to(left.dtype)
    return (left[0] * factor.to(left[0].dtype), *left[1:])  # as some families' layers answer


class LearntMaskNCE(EncoderPart, LossTerm):
    """InfoNCE of the two views, encoded again with adversarial masks on their token states.

    points: where states are masked, behind the embedding layer and the first layers. Tokens and features have scores
    from U(0, 1), features one set for all sentences; what is not above `threshold` is masked, and states are multiplied
    by half the number of masks that keep them. ascents, size: steps by which scores climb along the gradient of the
    loss by the masks, and their length; no weight collects anything there. The views as the trainer reads them are
    not read. Source: Zhou et al. 2023 (L2P-CSR); authors' code. Raises: BadSpec if the encoder has fewer layers,
    or they are no separate modules, or the pooler has a prompt.
    """

    needs: ClassVar[frozenset[str]] = frozenset({EMBEDDINGS})
    reads_anew = True
    changes_layers = True
    reads: ClassVar[Reads] = reads("head", views=2, tokens=2)
    temperature: Positive = 0.05  # L2P-CSR release, BERT-base
    points: Count = 3
    threshold: Rate = 0.05
    ascents: Size = 4
    size: Positive = 0.1

    def __post_init__(self) -> None:
        shape = self.shape
        if self.points > shape.layers + 1:
            raise BadSpec(
                f"learnt_mask_nce: points is {self.points}: the embedding layer and {self.points - 1} layers; this "
                f"encoder has {shape.layers}; take at most {shape.layers + 1}"
            )
        self.layers, self.width = shape.layers, shape.width
        if (backbone := meta_backbone(shape.folder)) is not None:
            self.masked(backbone)
        check_embedding_width("learnt_mask_nce", shape)

    def pools(self, pooler: Any) -> None:
        """Raise BadSpec on a prompt, whose position the tokens of a view do not contain."""
        if pooler.template:
            raise BadSpec("learnt_mask_nce: it reads sentences without a prompt; take +cls or +mean")

    def masked(self, backbone: Any) -> list[nn.Module]:
        """Return the `points` modules whose outputs are masked. Raises: BadSpec."""
        layers = layers_of(backbone, self.layers, "learnt_mask_nce")
        return [backbone.embeddings, *layers[: self.points - 1]]

    def setup(self, encoder: Encoder) -> None:
        """Find the modules of this encoder. Raises: BadSpec."""
        self.pools(encoder.pooler)
        self.behind = [self.masked(encoder.backbone)]  # in lists: their weights are not the term's
        self.encoder = [encoder]

    def forward(self, step: LossInputs) -> Tensor:
        ids, mask = (torch.cat([getattr(view, name) for view in step.views[:2]]) for name in ("ids", "mask"))
        tokens, features = self.hardest(step, ids, mask)
        return self.cost(step, ids, mask, binary_mask(tokens, self.threshold), binary_mask(features, self.threshold))

    def hardest(self, step: LossInputs, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return scores of tokens (P, 2 B, T, 1) and of features (P, 1, 1, D) after gradient ascent."""
        tokens, features = self.draw(ids, step.rng)
        for _ in range(self.ascents):
            with torch.enable_grad():
                masks = [binary_mask(scores, self.threshold).requires_grad_() for scores in (tokens, features)]
                slopes = torch.autograd.grad(self.cost(step, ids, mask, *masks), masks)
            tokens, features = (
                ascent_step(scores, slope, self.size) for scores, slope in zip((tokens, features), slopes, strict=True)
            )
        return tokens, features

    def draw(self, ids: Tensor, rng: Generator) -> tuple[Tensor, Tensor]:
        """Draw initial scores from U(0, 1)."""
        shapes = ((self.points, *ids.shape, 1), (self.points, 1, 1, self.width))
        tokens, features = (torch.rand(shape, generator=rng, device=ids.device) for shape in shapes)
        return tokens, features

    def cost(self, step: LossInputs, ids: Tensor, mask: Tensor, tokens: Tensor, features: Tensor) -> Tensor:
        """Return InfoNCE of both views (2 B, T) under masks of tokens (P, 2 B, T, 1) and features (P, 1, 1, D)."""
        assert step.head is not None
        (encoder,), (behind,) = self.encoder, self.behind
        with multiplied(behind, [(token + feature) / 2 for token, feature in zip(tokens, features, strict=True)]):
            h = encoder.pool(encoder.backbone, ids, mask, torch.zeros_like(mask[:, 0]))
        left, right = step.head(h).chunk(2)
        return info_nce(left, right, self.temperature)
