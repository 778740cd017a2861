"""Multinomial logistic regression the way SentEval trains it: minibatches, early stopping, one start for all.

Source: Conneau & Kiela 2018, their classifier without hidden units. All values of L2 that share their training rows
see the same minibatches in the same order, and are trained together, as are those of several folds. Sums are computed
in another order than in separate fits, so weights differ by rounding. The optimisers are those of PyTorch, in place.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors

Rows = npt.NDArray[np.intp]  # indices of features


class Problem(NamedTuple):
    """Classifiers to be trained on the same rows, one for each value of the regularisation.

    held_out: the rows for early stopping; if None, the learner holds out some of `train` if it needs them.
    """

    train: Rows
    held_out: Rows | None
    values: Sequence[float]


class Trained(NamedTuple):
    """A trained classifier. accuracy: on the held-out rows. predict: returns the classes (M,) of M rows.

    criterion: selects the regularisation, higher is better; None for the accuracy, as in SentEval.
    """

    accuracy: float
    predict: Callable[[Rows], Labels]
    criterion: float | None = None


class Learner(Protocol):
    """Trains classifiers on rows of its features."""

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """Return for each problem one classifier for each of its values, in order."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the classifiers of a protocol are trained.

    learner: creates one from features (N, D), labels (N,) and the number of classes. folds: k of cross-validation.
    grid: values of the regularisation; the first wins ties. inner: how many of the k inner folds are used.
    """

    learner: Callable[[Vectors, Labels, int], Learner]
    folds: int
    grid: tuple[float, ...]
    inner: int


SEED = 1111
GROUP = 5  # problems trained together; their arrays fit into the cache
HELD_OUT = 0.05  # fraction of the rows for early stopping without a dev set


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
    """Trains up to GROUP problems with equal numbers of rows together.

    The arrays of one problem are so small that the overhead of Python would dominate.
    """

    def __init__(self, settings: Settings, features: Vectors, labels: Labels, classes: int) -> None:
        self.settings, self.labels = settings, labels
        self.x = np.empty((len(features), features.shape[1] + 1), dtype=np.float32)
        self.x[:, :-1] = features
        self.x[:, -1] = 1  # the bias is a weight like others, also to the L2 term
        self.targets = np.eye(classes, dtype=np.float32)[labels]  # (N, C)
        self.start = np.column_stack(initial(features.shape[1], classes))  # (C, D + 1)

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """Return classifiers as in `Learner`, in one thread: with such small arrays two need twice as long."""
        from threadpoolctl import threadpool_limits

        classifiers: list[list[Trained]] = [[] for _ in problems]
        with threadpool_limits(1):
            for group in _groups(problems):
                for place, trained in zip(group, self.fit([problems[place] for place in group]), strict=True):
                    classifiers[place] = trained
        return classifiers

    def fit(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """Return L classifiers of each of P problems with equal numbers of rows and values."""
        stream = np.random.RandomState(SEED)
        if problems[0].held_out is None:  # all problems hold out the same positions
            state = stream.get_state()
            sides = []
            for problem in problems:
                stream.set_state(state)
                sides.append(set_aside(problem.train, stream))
        else:
            sides = [(train, held_out) for train, held_out, _ in problems if held_out is not None]
        rows = np.stack([train for train, _ in sides])  # (P, n)
        training = _Training(
            self, np.asarray([problem.values for problem in problems]), [held_out for _, held_out in sides]
        )
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # extreme embeddings
            for _ in range(rounds(self.settings)):
                for _ in range(self.settings.passes):
                    order = stream.permutation(rows.shape[1])
                    training.train_pass(rows[training.active][:, order])
                if not training.evaluate():
                    break
        return [
            [
                Trained(count / len(held_out), lambda rows, weights=weights: (self.x[rows] @ weights.T).argmax(axis=1))  # type: ignore[misc]
                for count, weights in zip(counts, best, strict=True)
            ]
            for (_, held_out), counts, best in zip(sides, training.most.tolist(), training.best, strict=True)
        ]


def _groups(problems: Sequence[Problem]) -> Iterator[list[int]]:
    """Yield positions of problems that can be trained together."""
    alike: dict[tuple[int, bool, int], list[int]] = {}
    for place, (train, held_out, values) in enumerate(problems):
        alike.setdefault((len(train), held_out is None, len(values)), []).append(place)
    for places in alike.values():
        for start in range(0, len(places), GROUP):
            yield places[start : start + GROUP]


class _Training:
    """The L classifiers of P problems; `weights` (P', L, C, D + 1) are those of the `active` problems.

    values: (P, L), of L2. held_out: the rows of each problem for early stopping.
    """

    def __init__(self, owner: Batched, values: Vectors, held_out: Sequence[Rows]) -> None:
        self.owner, settings = owner, owner.settings
        self.held_out, self.right = [owner.x[rows] for rows in held_out], [owner.labels[rows] for rows in held_out]
        self.weights = np.tile(owner.start, (*values.shape, 1, 1))
        self.decay = values.astype(np.float32)[:, :, None, None]
        self.optimiser = OPTIMISERS[settings.optimiser](settings.learning_rate, self.weights)
        self.buffer = np.empty((len(values) * settings.batch, owner.x.shape[1]), dtype=np.float32)
        self.active = np.arange(len(values))
        self.best = self.weights.copy()
        # counts of correct predictions: rounding of fractions would turn ties into gains
        self.most = np.full(values.shape, -1)
        self.failures = np.zeros(values.shape, dtype=int)

    def train_pass(self, rows: Rows) -> None:
        """Train on one pass over the rows (P', n) of the active problems, in this order."""
        owner, size = self.owner, self.owner.settings.batch
        problems, values, classes, width = self.weights.shape
        flat = self.weights.reshape(problems, values * classes, width)
        for start in range(0, rows.shape[1], size):
            batch = rows[:, start : start + size]  # (P', B)
            x = self.buffer[: batch.size].reshape(*batch.shape, width)
            np.take(owner.x, batch, axis=0, out=x, mode="clip")
            error = softmax((flat @ x.mT).reshape(problems, values, classes, -1), axis=2)  # (P', L, C, B)
            error -= owner.targets[batch].mT[:, None]
            error /= batch.shape[1]
            slope = (error.reshape(*flat.shape[:2], -1) @ x).reshape(self.weights.shape)
            slope += self.decay * self.weights
            self.optimiser.move(self.weights, slope)

    def evaluate(self) -> bool:
        """Score on the held-out rows, keep the best weights, and return whether a problem is still active.

        A problem ends when all of its values have failed too often; until then, those that have are ignored.
        """
        tenacity = self.owner.settings.tenacity
        for problem, weights in zip(self.active, self.weights, strict=True):
            guesses = (weights.reshape(-1, weights.shape[-1]) @ self.held_out[problem].T).reshape(
                *weights.shape[:2], -1
            )
            counts = (guesses.argmax(axis=1) == self.right[problem]).sum(axis=1)  # (L,)
            counting = self.failures[problem] <= tenacity
            gained = counting & (counts > self.most[problem])
            self.most[problem, gained], self.best[problem, gained] = counts[gained], weights[gained]
            self.failures[problem, counting & ~gained] += 1  # in all, not in a row
        stays = np.asarray((self.failures[self.active] <= tenacity).any(axis=1))
        if not stays.all():
            self.active, self.weights, self.decay = self.active[stays], self.weights[stays], self.decay[stays]
            self.optimiser.keep(stays)
        return bool(stays.any())


def softmax(z: Vectors, axis: int = 1) -> Vectors:
    """Return the softmax over one axis, computed in place."""
    z -= z.max(axis=axis, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=axis, keepdims=True)
    return z


def set_aside(rows: Rows, stream: np.random.RandomState) -> tuple[Rows, Rows]:
    """Return rows for training and for early stopping."""
    order = stream.permutation(len(rows))
    cut = int(HELD_OUT * len(rows))
    return rows[order[cut:]], rows[order[:cut]]


def rounds(settings: Settings) -> int:
    """Return the largest number of rounds."""
    return settings.most // settings.passes + 1


def initial(width: int, classes: int) -> tuple[Vectors, Vectors]:
    """Return weights (C, D) and biases (C,) of a linear layer as PyTorch makes them after `torch.manual_seed(1111)`.

    Both are uniform in +-1/sqrt(D). PyTorch takes the low 24 bits of each number of the same Mersenne Twister.
    """
    raw: npt.NDArray[np.uint32] = np.random.RandomState(SEED).randint(0, 2**32, classes * (width + 1), dtype=np.uint32)
    unit = (raw & 0xFFFFFF) * 2.0**-24
    # PyTorch computes the two bounds differently, which may change the last bit
    of_weights, of_biases = np.float32(math.sqrt(3) * (math.sqrt(2 / 6) / math.sqrt(width))), np.float32(width**-0.5)
    bound = np.repeat([of_weights, of_biases], [classes * width, classes]).astype(np.float64)
    drawn = (unit * (2 * bound) - bound).astype(np.float32)
    return drawn[:-classes].reshape(classes, width), drawn[-classes:]


class Adam:
    """Source: Kingma & Ba 2015, algorithm 1, with beta 0.9 and 0.999 and epsilon 1e-8."""

    def __init__(self, rate: float, weights: Vectors) -> None:
        self.rate, self.steps = rate, 0
        self.first, self.second, self.scratch = (np.zeros_like(weights) for _ in range(3))

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """Change the weights by a gradient of the same shape, which is overwritten."""
        self.steps += 1
        scratch = self.scratch
        self.first *= 0.9
        self.first += np.multiply(slope, 1 - 0.9, out=scratch)
        self.second *= 0.999
        slope *= slope
        slope *= 1 - 0.999
        self.second += slope
        np.sqrt(self.second, out=scratch)
        scratch /= (1 - 0.999**self.steps) ** 0.5
        scratch += 1e-8
        np.divide(self.first, scratch, out=scratch)
        scratch *= self.rate / (1 - 0.9**self.steps)
        weights -= scratch

    def keep(self, which: npt.NDArray[np.bool_]) -> None:
        """Forget all but these along the first axis."""
        self.first, self.second, self.scratch = self.first[which], self.second[which], self.scratch[which]


class RMSprop(Adam):
    """Source: Tieleman & Hinton 2012, lecture 6.5, with alpha 0.99 and epsilon 1e-8 added to the root."""

    def move(self, weights: Vectors, slope: Vectors) -> None:
        """Change the weights by a gradient of the same shape, which is overwritten."""
        scratch = self.scratch
        self.second *= 0.99
        np.multiply(slope, slope, out=scratch)
        scratch *= 1 - 0.99
        self.second += scratch
        np.sqrt(self.second, out=scratch)
        scratch += 1e-8
        slope /= scratch
        slope *= self.rate
        weights -= slope


OPTIMISERS: Mapping[str, type[Adam]] = {"adam": Adam, "rmsprop": RMSprop}
