"""The time that a recommendation has, and what its later steps take of it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from cseb.advice.candidates import UNTRAINED
from cseb.advice.estimate import FRESH
from cseb.advice.runs import Runs


@dataclass(slots=True)
class Budget:
    """Seconds for everything, earlier calls included, and what has to be left of them.

    seconds: that were allowed. started: when this call began, by time.monotonic(). models: how many final models are
    trained, 0 or 1. curve: whether the winner is trained on fewer sentences, too.
    """

    runs: Runs
    seconds: float
    started: float
    models: int
    curve: bool
    _spent: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        store = self.runs.store
        held = store.summaries()[0] if store.exists() else []
        self._spent = sum(record.cost.seconds for record in held) / self.runs.workers

    @property
    def deadline(self) -> float:
        """When the budget is spent, by time.monotonic(); what earlier calls have spent is gone."""
        return self.started + self.seconds - self._spent

    @property
    def left(self) -> float:
        """Seconds until then."""
        return self.deadline - time.monotonic()

    def longest(self, methods: Sequence[str]) -> float:
        """Seconds of the longest job of these methods; 0 if nobody knows."""
        return max((self.runs.likely(method) or 0.0 for method in methods), default=0.0)

    def model(self, contestants: Sequence[str]) -> float:
        """Seconds of the final model, whichever of these it is."""
        return self.models * (self.longest(contestants) + self.runs.starting)

    def after_race(self, contestants: Sequence[str], curve: bool = False) -> float:
        """Seconds of the estimate and the final model, whichever of these wins. curve: and of the learning curve."""
        grids = 2 if curve and self.curve else 1
        turns = -(-len(FRESH) // self.runs.workers)
        untrained = len(FRESH) * self.longest(UNTRAINED)
        return grids * (self.longest(contestants) * turns + self.runs.starting) + untrained + self.model(contestants)
