"""The objective: views encoded, parts composed, terms weighted and summed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import fields, replace
from functools import partial
from typing import Any, cast

import torch
from torch import Generator, Tensor, nn
from torch.utils.checkpoint import checkpoint

from cseb.encoder.distributed import SINGLE_PROCESS, DistributedContext
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import ATTENTIONS, PADDING, EncodedView
from cseb.encoder.random_streams import TermGenerators, random_stream, replayed
from cseb.parts import ALL, EVERYTHING, Hiding, LossInputs, Queued, Reads, Rendering, Term
from cseb.parts.base import check_scalar
from cseb.seeds import distinct
from cseb.training.batches import Batch
from cseb.training.build import Built
from cseb.training.construct import Weighted, groups


class Objective(nn.Module):
    """Encoders and terms as one module, so that whatever wraps it for devices and processes sees every weight."""

    def __init__(self, built: Built, distributed: DistributedContext = SINGLE_PROCESS) -> None:
        super().__init__()
        self.distributed = distributed
        self.encoder, self.second, self.peer = built.encoder, built.second, built.peer
        self.compose, self.groups = built.compose, groups(built.views)
        self.wrapper, self.chunk = built.wrapper, built.recipe.chunk
        self.edits: int = getattr(built.views, "edits", 0)
        self.renderings: Sequence[Rendering] = getattr(built.views, "renderings", ())
        self.terms = nn.ModuleList([weighted.term for weighted in built.terms if isinstance(weighted.term, nn.Module)])
        self.weighted = list(zip(distinct(weighted.name for weighted in built.terms), built.terms, strict=True))
        hiding = ((name, weighted.term) for name, weighted in self.weighted if isinstance(weighted.term, Hiding))
        self.hiding = next(((name, term) for name, term in hiding if term.corrupt_contrast), None)
        self.mapped, self.spared = _maps([weighted.term for weighted in built.terms])
        self.checked: set[str] = set()  # terms whose value was checked: they return the same kind every time

    def forward(
        self, batch: Batch, queue: Queued | None, generators: TermGenerators, frozen: Sequence[Sequence[Tensor]] = ()
    ) -> Tensor:
        """Return the weighted sum of all terms over the views of a batch. queue, frozen: see parts.Step."""
        batch_fields, targets = batch.fields, None
        if self.hiding is not None:
            ids, *others = batch.fields
            name, term = self.hiding
            ids, targets = term.hide(ids, batch.fields[2], generators.of(name))
            batch_fields = (ids, *others)
            targets = targets[: (batch.views - self.edits) * len(batch.rows)]
        language, unset = self.encoder.language, Generator()  # every term gets its own
        inputs = LossInputs((), unset, queue, language, frozen, same=batch.same, targets=targets, sids=batch.sids)
        inputs = replace(inputs, scores=batch.scores)
        step = self._step(self.encoder, batch_fields, batch.views, inputs)
        peer: LossInputs | None = None
        if self.peer is not None:
            with random_stream("peer"):
                peer = self._step(self.peer, batch_fields, batch.views, inputs)
            step = replace(step, peer=peer)
        costs = [self._cost(name, term, replace(step, rng=generators.of(name))) for name, term in self.weighted]
        if peer is not None:
            own = [(name, each) for name, each in self.weighted if getattr(each.term, "networks", 1) == 1]
            with random_stream("peer"):
                costs += [
                    self._cost(name, each, replace(peer, rng=generators.of(f"{name}/peer"))) for name, each in own
                ]
        return torch.stack(costs).sum()

    def _cost(self, name: str, weighted: Weighted, step: LossInputs) -> Tensor:
        """Return a term's summand of the loss; torch's own generators follow its stream. Raises: BadSpec."""
        with random_stream(f"terms/{name}"):
            value = weighted.term(step) if self.wrapper is None else self.wrapper(weighted.term, step)
        if name not in self.checked:
            self.checked.add(name)
            check_scalar(weighted.name, value)
        return weighted.weight * value

    def _step(self, encoder: Encoder, batch: tuple[Tensor, ...], views: int, inputs: LossInputs) -> LossInputs:
        """Return `inputs` with the batch as this encoder encodes it."""
        encoded = self._encoded(encoder, batch, views)
        if self.compose is not None:
            with random_stream("compose"):
                encoded = self.compose(encoded, self.groups, encoder.project)
        kept = len(encoded) - self.edits
        return replace(inputs, views=encoded[:kept], edits=encoded[kept:], read=encoder.read, head=encoder.project)

    def _encoded(self, encoder: Encoder, batch: tuple[Tensor, ...], views: int) -> Sequence[EncodedView]:
        if self.second is None and not self.renderings:
            counts = [views] if self.mapped >= views else [self.mapped, views - self.mapped]
            rows = [len(batch[0]) // views * count for count in counts]
            readers: Sequence[Callable[..., EncodedView]] = (encoder, partial(encoder, spared=self.spared))
            parts = zip(*(torch.split(field, rows) for field in batch), strict=True)
            split: list[EncodedView] = []
            for reader, part, count in zip(readers, parts, counts, strict=False):
                split += _split(self._whole(encoder, reader, part, count), count)
            return split
        blocks = zip(*(field.chunk(views) for field in batch), strict=True)
        encoders = [encoder if self.second is None or not number else self.second for number in range(views)]
        renderings = self.renderings or [Encoder.__call__] * views
        encoded = []
        for rendering, each, block in zip(renderings, encoders, blocks, strict=True):
            with nullcontext() if each is encoder else random_stream("second"):
                encoded.append(self._whole(each, partial(rendering, each), block, 1))
        return encoded

    def _whole(
        self, encoder: Encoder, read: Callable[..., EncodedView], batch: tuple[Tensor, ...], views: int
    ) -> EncodedView:
        """Return the batch as `read` encodes it, distributed over processes; heads see all rows, which some need."""
        if self.distributed.count == 1 and not self.chunk:
            return read(*batch)
        part = self._in_chunks(encoder, read, tuple(self.distributed.own(field, views) for field in batch), views)
        ids, mask, content, _ = batch
        rows = len(ids) // views
        h = self.distributed.gather(part.h, rows, views)
        layers, attentions = (
            [self.distributed.gather(layer, rows, views) for layer in some] for some in (part.layers, part.attentions)
        )
        return EncodedView(h, encoder.project(h), ids, mask, content, layers, attentions)

    def _in_chunks(
        self, encoder: Encoder, read: Callable[..., EncodedView], batch: tuple[Tensor, ...], views: int
    ) -> EncodedView:
        """Return the rows as `read` encodes them, without the head.

        With `recipe(chunk=C)` the activations of C sentences at a time are in memory: they are computed again in the
        backward pass, with the same random numbers. Loss and gradient are those of the whole batch. Source: Gao et al.
        2021 (GradCache), arXiv:2101.06983.
        """
        headless = partial(_headless, encoder, read)
        if not self.chunk:
            return headless(*batch)
        chunks = zip(*(torch.split(field, self.chunk * views) for field in batch), strict=True)
        parts: list[EncodedView] = [
            checkpoint(headless, *chunk, use_reentrant=False, context_fn=replayed) for chunk in chunks
        ]
        h = torch.cat([part.h for part in parts])
        layers, attentions = (
            [torch.cat(states) for states in zip(*(getattr(part, name) for part in parts), strict=True)]
            for name in ("layers", "attentions")
        )
        ids, mask, content, _ = batch
        return EncodedView(h, h, ids, mask, content, layers, attentions)


def _headless(encoder: Encoder, read: Callable[..., EncodedView], *batch: Tensor) -> EncodedView:
    """Return what `read` encodes, without the head, which sees the whole batch later."""
    head, identity = encoder.head, cast(Any, nn.Identity())
    encoder.head = identity
    try:
        return read(*batch)
    finally:
        encoder.head = head


def _maps(terms: Sequence[Term]) -> tuple[int, frozenset[str]]:
    """Return how many of the first views have their attention maps read, and what is computed for those maps alone.

    All views if a term reads maps of edits, which come last, or does not declare what it reads, and if no term reads
    maps at all: then nothing can be left out.
    """
    mapping = [term for term in terms if ATTENTIONS in term.needs]
    reads: list[Reads] = [getattr(term, "reads", EVERYTHING) for term in mapping]
    others = frozenset[str]().union(*(term.needs for term in terms if ATTENTIONS not in term.needs))
    mapped = max((ALL if each.edits else each.views for each in reads), default=ALL)
    return mapped, frozenset({ATTENTIONS, PADDING}) - others


def _split(view: EncodedView, views: int) -> list[EncodedView]:
    """Return one encoded block of V B rows as V views of B rows."""
    pieces: list[Sequence[Any]] = []
    for field in fields(EncodedView):
        value = getattr(view, field.name)
        if isinstance(value, Tensor):
            pieces.append(value.chunk(views))
        else:
            layers = [layer.chunk(views) for layer in value]
            pieces.append([tuple(layer[i] for layer in layers) for i in range(views)])
    return [EncodedView(*(piece[i] for piece in pieces)) for i in range(views)]
