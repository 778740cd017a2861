"""Reference implementation of SentEval's transfer tasks in plain PyTorch, with equal accuracies.

It is an order of magnitude slower than the other files of this package, which train several classifiers at once in
numpy and are tested against it.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer import labelled
from cseb.tasks.transfer.labelled import Transfer
from cseb.tasks.transfer.learner import Problem, Rows, Trained
from cseb.tasks.transfer.linear import SEED, TEST, Settings, rounds, set_aside

if TYPE_CHECKING:  # reports ask for the version of a task, and shall not load torch for it
    from torch import Tensor, nn


class Exact:
    """A plain PyTorch loop. Source: Conneau & Kiela 2018, their classifier without hidden units."""

    def __init__(self, settings: Settings, features: Vectors, labels: Labels, classes: int) -> None:
        import torch

        self.settings, self.classes = settings, classes
        self.x, self.y = torch.from_numpy(features), torch.from_numpy(labels)

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """Return classifiers as in `Learner`."""
        import torch

        with torch.random.fork_rng(devices=[]):
            return [[self.fit(problem, value) for value in problem.values] for problem in problems]

    def fit(self, problem: Problem, value: float) -> Trained:
        """Return one classifier; torch's generator is seeded first."""
        import torch
        from torch import nn

        torch.manual_seed(SEED)
        stream = np.random.RandomState(SEED)
        layer = nn.Linear(self.x.shape[1], self.classes)
        make = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}[self.settings.optimiser]
        optimiser = make(layer.parameters(), lr=self.settings.learning_rate, weight_decay=value)
        train, held = problem.train, problem.held_out
        if held is None:
            train, held = set_aside(train, stream)
        x, y = self.x[train], self.y[train]
        kept, most, failures = layer, -1, 0
        for _ in range(rounds(self.settings)):
            for _ in range(self.settings.passes):
                order = torch.from_numpy(stream.permutation(len(x)))
                for start in range(0, len(x), self.settings.batch):
                    batch = order[start : start + self.settings.batch]
                    optimiser.zero_grad()
                    nn.functional.cross_entropy(layer(x[batch]), y[batch]).backward()  # type: ignore[no-untyped-call]
                    optimiser.step()
            right = int((self.classify(layer, held) == self.y[held]).sum())
            if right > most:
                kept, most = copy.deepcopy(layer), right
            else:
                failures += 1  # in all, not in a row
                if failures > self.settings.tenacity:
                    break
        return Trained(most / len(held), lambda rows: self.classify(kept, rows).numpy())

    def classify(self, layer: nn.Linear, rows: Rows) -> Tensor:
        """Return the classes (M,) of M rows, in minibatches as in training."""
        import torch

        x, size = self.x[rows], self.settings.batch
        with torch.no_grad():
            return torch.cat([layer(x[start : start + size]).argmax(dim=1) for start in range(0, len(x), size)])


def exactly(task: Transfer) -> Transfer:
    """Return the task with the same protocol and data, trained by `Exact`."""
    return replace(task, name=f"{task.data}-exact", recipe=replace(task.recipe, learner=partial(Exact, TEST)))


MR_EXACT = exactly(labelled.MR)
CR_EXACT = exactly(labelled.CR)
SUBJ_EXACT = exactly(labelled.SUBJ)
MPQA_EXACT = exactly(labelled.MPQA)
SST2_EXACT = exactly(labelled.SST2)
TREC_EXACT = exactly(labelled.TREC)
MRPC_EXACT = exactly(labelled.MRPC)
