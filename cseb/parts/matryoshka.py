"""Terms evaluated on the first coordinates of every vector too (Matryoshka)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from cseb.encoder.interface import EncodedView, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Rate
from cseb.parts import EVERYTHING, LossInputs, NeedsPrecomputedTargets, NeedsSetup, Queued, Term
from cseb.parts.base import BasePart

VECTORS = frozenset({"h", "z"})
WHOLE = frozenset({"layers", "attentions", "language", "head", "peer"})  # a term that reads these knows full vectors


def reads_vectors_only(term: Term) -> bool:
    """Return whether a term depends on sentence vectors only, of any width."""
    made = getattr(term, "reads", EVERYTHING).made
    bound = isinstance(term, NeedsSetup | NeedsPrecomputedTargets) or (
        isinstance(term, nn.Module) and next(term.parameters(), None) is not None
    )
    return bool(made & VECTORS) and not made & WHOLE and not bound


def truncated(step: LossInputs, width: int, targets: bool) -> LossInputs:
    """Return the step with the first `width` coordinates of every vector of views, edits and queue.

    targets: also those of frozen teachers, which have the same coordinates.
    """

    def cut(view: EncodedView) -> EncodedView:
        return replace(view, h=view.h[:, :width], z=view.z[:, :width])

    queue = None if step.queue is None else Queued(step.queue.keys[:, :width], step.queue.allowed)
    frozen = [[view[:, :width] for view in stage] for stage in step.frozen] if targets else step.frozen
    return replace(step, views=list(map(cut, step.views)), edits=list(map(cut, step.edits)), queue=queue, frozen=frozen)


class Matryoshka(BasePart):
    """Sum every term of sentence vectors over several widths: prefixes of each vector, and the full vector.

    widths: () is the full one, its half, quarter and eighth. weights: of each, () for 1 each. Terms that read layers,
    attention maps or tokens, or that have weights or targets of their own, are taken once, at the full width. Vectors
    are cut and not made length 1 again, which no term of angles feels. Source: Kusupati et al. 2022; the authors' code
    of sentence-transformers (MatryoshkaLoss). Raises: BadSpec on a width beyond the encoder's, where no term can be
    cut, or with a head that is dropped at test: its first coordinates are no embedding.
    """

    def __init__(self, widths: tuple[Count, ...] = (), weights: tuple[Rate, ...] = (), *, shape: Shape) -> None:
        self.widths, self.weights = widths, weights
        if len(set(widths)) < len(widths):
            raise BadSpec(f"matryoshka: widths is {widths!r}; write different numbers, such as (128, 64)")
        if weights and len(weights) != len(widths):
            raise BadSpec(f"matryoshka: {len(weights)} weights for {len(widths)} widths; write one for each, or ()")
        self.full = shape.width

    def check(self, terms: Sequence[Term], head: Any) -> None:
        if not any(map(reads_vectors_only, terms)):
            raise BadSpec("matryoshka: no term of this method depends on vectors alone; take -matryoshka")
        if type(head).__name__ != "NoHead" and not head.keep:
            raise BadSpec(
                "matryoshka: this head is dropped at test, so the first numbers behind it are no vector; take +none"
            )
        with torch.no_grad():
            full = head.eval()(torch.zeros(2, self.full)).shape[1]
        if wide := [width for width in self.widths if width > full]:
            raise BadSpec(f"matryoshka: widths has {wide[0]}, vectors have {full} numbers; take no more than that")

    def __call__(self, term: Term, step: LossInputs) -> Tensor:
        """Return a term's value, a scalar, summed over the widths if it depends on vectors only."""
        if not reads_vectors_only(term):
            return term(step)
        full = step.views[0].z.shape[1]
        widths = self.widths or tuple(full // part for part in (1, 2, 4, 8) if full >= part)
        weights = self.weights or (1.0,) * len(widths)
        targets = getattr(term, "same_width", False)
        values = [weight * term(truncated(step, width, targets)) for width, weight in zip(widths, weights, strict=True)]
        return torch.stack(values).sum()
