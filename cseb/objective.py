"""What is minimised: views encoded, parts composed, terms weighed and summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import torch
from torch import Generator, Tensor, nn

from cseb.batches import Batch
from cseb.build import Built, groups
from cseb.encoder import Encoder
from cseb.parts import EncodedView, Hiding, Queued, Rendering, Step
from cseb.processes import ALONE, Share


class Objective(nn.Module):
    """Encoders and terms as one module, so that whatever wraps it for devices and processes sees every weight."""

    def __init__(self, built: Built, share: Share = ALONE) -> None:
        super().__init__()
        self.share = share
        self.encoder, self.second, self.peer = built.encoder, built.second, built.peer
        self.compose, self.groups = built.compose, groups(built.views)
        self.edits: int = getattr(built.views, "edits", 0)
        self.renderings: Sequence[Rendering] = getattr(built.views, "renderings", ())
        self.terms = nn.ModuleList([weighted.term for weighted in built.terms if isinstance(weighted.term, nn.Module)])
        self.weighted = built.terms
        hiding = (one.term for one in built.terms if isinstance(one.term, Hiding) and one.term.corrupt_contrast)
        self.hiding = next(hiding, None)

    def forward(
        self, batch: Batch, queue: Queued | None, rng: Generator, frozen: Sequence[Sequence[Tensor]] = ()
    ) -> Tensor:
        """The weighted sum of all terms over the views of a batch. queue, rng, frozen: see parts.Step."""
        batch_fields, targets = batch.fields, None
        if self.hiding is not None:
            ids, *others = batch.fields
            ids, targets = self.hiding.hide(ids, batch.fields[2], rng)
            batch_fields = (ids, *others)
            targets = targets[: (batch.views - self.edits) * len(batch.rows)]
        told = Step((), rng, queue, self.encoder.language, frozen, same=batch.same, targets=targets, sids=batch.sids)
        step = self._step(self.encoder, batch_fields, batch.views, told)
        looked = [(weighted, step) for weighted in self.weighted]
        if self.peer is not None:
            peer = self._step(self.peer, batch_fields, batch.views, told)
            looked = [(weighted, replace(step, peer=peer)) for weighted in self.weighted]
            looked += [(one, peer) for one in self.weighted if getattr(one.term, "networks", 1) == 1]
        return torch.stack([weighted.weight * weighted.term(seen) for weighted, seen in looked]).sum()

    def _step(self, encoder: Encoder, batch: tuple[Tensor, ...], views: int, told: Step) -> Step:
        """`told` with what this encoder makes of the batch."""
        encoded = self._encoded(encoder, batch, views)
        if self.compose is not None:
            encoded = self.compose(encoded, self.groups, encoder.head)
        kept = len(encoded) - self.edits
        return replace(told, views=encoded[:kept], edits=encoded[kept:], read=encoder.read, head=encoder.head)

    def _encoded(self, encoder: Encoder, batch: tuple[Tensor, ...], views: int) -> Sequence[EncodedView]:
        if self.second is None and not self.renderings:
            return _split(self._whole(encoder, encoder, batch, views), views)
        blocks = zip(*(field.chunk(views) for field in batch), strict=True)
        readers = [encoder if self.second is None or not number else self.second for number in range(views)]
        told = self.renderings or [Encoder.__call__] * views
        return [
            self._whole(reader, partial(rendering, reader), block, 1)
            for rendering, reader, block in zip(told, readers, blocks, strict=True)
        ]

    def _whole(
        self, encoder: Encoder, read: Callable[..., EncodedView], batch: tuple[Tensor, ...], views: int
    ) -> EncodedView:
        """The batch as `read` encodes it, each process its share; heads see all rows, as some look at a whole batch."""
        if self.share.count == 1:
            return read(*batch)
        found = read(*(self.share.own(field, views) for field in batch))
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
