"""What is minimised: views encoded, parts composed, terms weighed and summed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import torch
from torch import Generator, Tensor, nn

from cseb.build import Weighted
from cseb.encoder import Encoder
from cseb.parts import Composer, EncodedView, Hiding, Queued, Step
from cseb.processes import ALONE, Share


class Objective(nn.Module):
    """Encoders and terms as one module, so that whatever wraps it for devices and processes sees every weight."""

    def __init__(
        self,
        encoder: Encoder,
        terms: Sequence[Weighted],
        second: Encoder | None = None,
        compose: Composer | None = None,
        groups: Sequence[int] = (),
        share: Share = ALONE,
    ) -> None:
        super().__init__()
        self.share = share
        self.encoder, self.second, self.compose, self.groups = encoder, second, compose, groups
        self.terms = nn.ModuleList([weighted.term for weighted in terms if isinstance(weighted.term, nn.Module)])
        self.weighted = tuple(terms)
        self.hiding = next(
            (one.term for one in terms if isinstance(one.term, Hiding) and one.term.corrupt_contrast), None
        )

    def forward(
        self,
        batch: tuple[Tensor, ...],
        views: int,
        queue: Queued | None,
        rng: Generator,
        frozen: Sequence[Sequence[Tensor]] = (),
        same: Tensor | None = None,
    ) -> Tensor:
        """The weighted sum of all terms over `views` blocks of B rows each. frozen, same: see parts.Step."""
        targets: Tensor | None = None
        if self.hiding is not None:
            ids, mask, content, anchor = batch
            ids, targets = self.hiding.hide(ids, content, rng)
            batch = (ids, mask, content, anchor)
        encoded = self._encoded(batch, views)
        if self.compose is not None:
            encoded = self.compose(encoded, self.groups, self.encoder.head)
        step = Step(encoded, rng, queue, self.encoder.language, frozen, self.encoder.read, same, targets)
        return torch.stack([weighted.weight * weighted.term(step) for weighted in self.weighted]).sum()

    def _encoded(self, batch: tuple[Tensor, ...], views: int) -> Sequence[EncodedView]:
        if self.second is None:
            return _split(self._whole(self.encoder, batch, views), views)
        blocks = zip(*(field.chunk(views) for field in batch), strict=True)
        return [self._whole(self.second if number else self.encoder, block, 1) for number, block in enumerate(blocks)]

    def _whole(self, encoder: Encoder, batch: tuple[Tensor, ...], views: int) -> EncodedView:
        """The batch encoded, each process its share. Heads see all rows: they may look at a whole batch."""
        if self.share.count == 1:
            found: EncodedView = encoder(*batch)
            return found
        found = encoder(*(self.share.own(field, views) for field in batch), head=False)
        ids, mask, content, _ = batch
        rows = len(ids) // views
        h = self.share.gather(found.h, rows, views)
        layers, attentions = (
            [self.share.gather(layer, rows, views) for layer in some] for some in (found.layers, found.attentions)
        )
        return EncodedView(h, encoder.head(h), ids, mask, content, layers, attentions)


def _split(view: EncodedView, views: int) -> list[EncodedView]:
    """One encoded block of V B rows as V views of B rows."""
    pieces: list[Sequence[Any]] = []
    for field in fields(EncodedView):
        value = getattr(view, field.name)
        if isinstance(value, Tensor):
            pieces.append(value.chunk(views))
        else:
            layers = [layer.chunk(views) for layer in value]
            pieces.append([tuple(layer[i] for layer in layers) for i in range(views)])
    return [EncodedView(*(piece[i] for piece in pieces)) for i in range(views)]
