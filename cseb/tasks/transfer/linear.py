"""Multinomial logistic regression the way SentEval trains it: minibatches, early stopping, one start for all.

Source: Conneau & Kiela 2018, their classifier without hidden units. All values of L2 that share their training rows
are trained in one program: they see the same minibatches in the same order. Sums are associated differently from
those of one fit after the other, so single weights differ by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.learner import Problem, Rows, Trained
from cseb.tasks.transfer.optimisers import OPTIMISERS, Optimiser

SEED = 1111
HELD = 0.05  # fraction of the rows used for early stopping, if there is no dev set


@dataclass(frozen=True, slots=True)
class Settings:
    """One round is `passes` passes over the rows; training ends at the (tenacity + 1)-th round without a gain."""

    optimiser: str
    learning_rate: float
    batch: int
    tenacity: int
    passes: int
    most: int = 200  # no round begins after more passes than this


TEST = Settings("adam", learning_rate=1e-3, batch=64, tenacity=5, passes=4)
FAST = Settings("rmsprop", learning_rate=1e-2, batch=128, tenacity=3, passes=2)


class Batched:
    """Trains the values of each problem together, and problems side by side in as many threads as the process uses."""

    def __init__(self, settings: Settings, features: Vectors, labels: Labels, classes: int) -> None:
        self.settings, self.labels = settings, labels
        self.x = np.empty((len(features), features.shape[1] + 1), dtype=np.float32)
        self.x[:, :-1] = features
        self.x[:, -1] = 1  # the bias is a weight like others, also to the L2 term
        self.targets = np.eye(classes, dtype=np.float32)[labels]  # (N, C)
        self.start = np.column_stack(initial(features.shape[1], classes))  # (C, D + 1)

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """As in `Learner`; the number of threads does not change a bit."""
        from threadpoolctl import threadpool_info, threadpool_limits

        threads = min((library["num_threads"] for library in threadpool_info()), default=1)
        with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
            return list(pool.map(self.fit, problems))

    def fit(self, problem: Problem) -> list[Trained]:
        """One problem: L classifiers."""
        stream = np.random.RandomState(SEED)
        train, held = problem.train, problem.held
        if held is None:
            train, held = set_aside(train, stream)
        training = _Training(self, problem.values, held)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a wild encoder, not our fault
            for _ in range(rounds(self.settings)):
                for _ in range(self.settings.passes):
                    training.go_through(train[stream.permutation(len(train))])
                if not training.look():
                    break
        return [
            Trained(count / len(held), lambda rows, weights=weights: (self.x[rows] @ weights.T).argmax(axis=1))  # type: ignore[misc]
            for count, weights in zip(training.most, training.best, strict=True)
        ]


class _Training:
    """The L classifiers of one problem, those still in training in front of `weights` (L', C, D + 1)."""

    def __init__(self, owner: Batched, values: Sequence[float], held: Rows) -> None:
        self.owner, settings = owner, owner.settings
        self.held, self.right = owner.x[held], owner.labels[held]
        self.weights = np.repeat(owner.start[None], len(values), axis=0)
        self.decay = np.asarray(values, dtype=np.float32)[:, None, None]
        self.optimiser: Optimiser = OPTIMISERS[settings.optimiser](settings.learning_rate, self.weights)
        self.buffer = np.empty((settings.batch, owner.x.shape[1]), dtype=np.float32)
        self.live = np.arange(len(values))
        self.best = self.weights.copy()
        self.most = [-1] * len(values)  # right answers, whole numbers: a float32 fraction would turn ties into gains
        self.failures = [0] * len(values)

    def go_through(self, rows: Rows) -> None:
        """One pass over the training rows, in this order."""
        owner, size = self.owner, self.owner.settings.batch
        for start in range(0, len(rows), size):
            batch = rows[start : start + size]
            x = np.take(owner.x, batch, axis=0, out=self.buffer[: len(batch)], mode="clip")  # (B, D + 1)
            flat = self.weights.reshape(-1, x.shape[1])
            error = softmax((flat @ x.T).reshape(*self.weights.shape[:2], len(batch)))  # (L', C, B)
            error -= owner.targets[batch].T
            error /= len(batch)
            slope = (error.reshape(-1, len(batch)) @ x).reshape(self.weights.shape)
            slope += self.decay * self.weights
            self.optimiser.move(self.weights, slope)

    def look(self) -> bool:
        """Score on the held rows, keep what has gained, let go of what has failed too often. False: none is left."""
        flat = self.weights.reshape(-1, self.held.shape[1])
        guesses = (flat @ self.held.T).reshape(*self.weights.shape[:2], -1).argmax(axis=1)  # (L', M)
        stays = []
        for place, value in enumerate(self.live):
            count = int((guesses[place] == self.right).sum())
            if count > self.most[value]:
                self.most[value], self.best[value] = count, self.weights[place]
            else:
                self.failures[value] += 1  # in all, not in a row
            stays.append(self.failures[value] <= self.owner.settings.tenacity)
        if not all(stays):
            self.live, self.weights, self.decay = self.live[stays], self.weights[stays], self.decay[stays]
            self.optimiser.keep(np.asarray(stays))
        return any(stays)


def softmax(z: Vectors) -> Vectors:
    """Over axis 1, in place."""
    z -= z.max(axis=1, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=1, keepdims=True)
    return z


def set_aside(rows: Rows, stream: np.random.RandomState) -> tuple[Rows, Rows]:
    """Rows to train on and rows to stop by."""
    order = stream.permutation(len(rows))
    cut = int(HELD * len(rows))
    return rows[order[cut:]], rows[order[:cut]]


def rounds(settings: Settings) -> int:
    """How many rounds begin at most."""
    return settings.most // settings.passes + 1


def initial(width: int, classes: int) -> tuple[Vectors, Vectors]:
    """Weights (C, D) and biases (C,) of a linear layer as PyTorch makes it after `torch.manual_seed(1111)`.

    Both are uniform in +-1/sqrt(D). PyTorch takes the low 24 bits of each number of the same Mersenne Twister.
    """
    raw: npt.NDArray[np.uint32] = np.random.RandomState(SEED).randint(0, 2**32, classes * (width + 1), dtype=np.uint32)
    unit = (raw & 0xFFFFFF) * 2.0**-24
    # the two bounds are worked out differently there, which may matter in the last bit
    of_weights, of_biases = np.float32(math.sqrt(3) * (math.sqrt(2 / 6) / math.sqrt(width))), np.float32(width**-0.5)
    bound = np.repeat([of_weights, of_biases], [classes * width, classes]).astype(np.float64)
    drawn = (unit * (2 * bound) - bound).astype(np.float32)
    return drawn[:-classes].reshape(classes, width), drawn[-classes:]
