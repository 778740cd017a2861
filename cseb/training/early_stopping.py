"""Early stopping of a first training stage, on the loss of sentences that it does not train on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from cseb.encoder.random_streams import RandomStreams, TermGenerators
from cseb.parts import EarlyStopping
from cseb.seeds import Seed
from cseb.training.batches import Batch, Feed
from cseb.training.build import Built
from cseb.training.objective import Objective


def held_out(sentences: Sequence[str], until: EarlyStopping | None) -> tuple[Sequence[str], Sequence[str]]:
    """Return the held-out sentences for early stopping, at most a tenth of all, and the others."""
    count = 0 if until is None else min(until.held_out, len(sentences) // 10)
    return sentences[:count], sentences[count:]


class EarlyStopper:
    """Early stopping on the loss of held-out sentences, or of the batches where there are none."""

    def __init__(
        self, built: Built, objective: Objective, validation: Sequence[str], seed: Seed, device: torch.device
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
