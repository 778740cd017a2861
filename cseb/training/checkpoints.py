"""Checkpoints of a run in memory, the rule of early stopping, and what changes once training has ended."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Text
from cseb.encoder.random_streams import RandomStreams, TermGenerators
from cseb.parts import EarlyStopping
from cseb.training.batches import Batch, Feed
from cseb.training.build import Built
from cseb.training.objective import Objective

State = dict[str, Tensor]


@dataclass(frozen=True, slots=True)
class Trained:
    """Two checkpoints of one run: `best` by the dev set (the last one where there is none), and `last`."""

    best: State
    last: State
    best_step: int
    curve: tuple[tuple[int, float, float | None], ...]  # one entry per evaluation interval
    notes: tuple[str, ...] = ()  # what the views found in these sentences, and how the first training stage ended


def snapshot(encoder: Encoder) -> State:
    """Return a copy of what embeddings depend on, without the MLM head and other weights for training alone."""
    modules = ("backbone.", "pooler.", "head.", "post.")
    return {name: value.detach().clone() for name, value in encoder.state_dict().items() if name.startswith(modules)}


def changed(trained: Trained, change: Callable[[State], State]) -> Trained:
    """Return both checkpoints, changed; if they share their memory, they still do."""
    last = change(trained.last)
    return replace(trained, best=last if trained.best is trained.last else change(trained.best), last=last)


def finished(built: Built, start: State, trained: Trained, texts: Sequence[Text]) -> Trained:
    """Return both checkpoints with tuned weights merged into the encoder's, then mixed by the method's mixer."""
    mixer, tuning = built.mixer, built.tuning
    if tuning is not None:
        for encoder in filter(None, (built.encoder, built.second)):
            tuning.detach(encoder)
        start, trained = tuning.plain(start), changed(trained, tuning.plain)
    if mixer is None:
        return trained

    def mixed(state: State) -> State:
        restore(built.encoder, mixer(start, state))
        built.encoder.fit(texts)
        return snapshot(built.encoder)

    return changed(trained, mixed)


def restore(encoder: Encoder, state: State) -> None:
    """Put a checkpoint of `Trained` back into its encoder."""
    encoder.load_state_dict(state, strict=False)


def held_out(sentences: Sequence[str], until: EarlyStopping | None) -> tuple[Sequence[str], Sequence[str]]:
    """Return the held-out sentences for early stopping, at most a tenth of all, and the others."""
    count = 0 if until is None else min(until.held_out, len(sentences) // 10)
    return sentences[:count], sentences[count:]


class EarlyStopper:
    """Early stopping on the loss of held-out sentences, or of the batches where there are none."""

    def __init__(
        self, built: Built, objective: Objective, validation: Sequence[str], seed: int, device: torch.device
    ) -> None:
        assert built.until is not None
        self.until, self.objective, self.seed, self.device = built.until, objective, seed, device
        self.lowest, self.waited = math.inf, 0
        self.batches: list[Batch] = []
        if validation:
            steps = -(-len(validation) // built.recipe.batch_size)
            recipe = replace(built.recipe, steps=steps, last_batch="keep", batch="shuffled")
            self.batches = list(Feed(built.views, built.encoder, recipe, validation, seed, device))

    def stops_at(self, step: int, loss: Tensor) -> bool:
        """Return whether training ends after this step."""
        if step % self.until.every:
            return False
        now = float(self.objective.distributed.mean(self._held_loss() if self.batches else loss))
        self.lowest, self.waited = (now, 0) if now < self.lowest else (self.lowest, self.waited + 1)
        return self.waited >= self.until.patience

    @torch.no_grad()
    def _held_loss(self) -> Tensor:
        """Return the mean over the held-out sentences.

        Dropout stays on, since two views may differ by it alone; its masks are the same at every check.
        """
        total, count = torch.zeros((), device=self.device), 0
        with RandomStreams(self.seed, self.device):
            generators = TermGenerators(self.seed, self.device)
            for batch in self.batches:
                loss = self.objective(batch, None, generators)
                total, count = total + loss * len(batch.rows), count + len(batch.rows)
        return total / count
