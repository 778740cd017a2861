"""Multinomial logistic regression the way SentEval trains it: minibatches, early stopping, one start for all.

Source: Conneau & Kiela 2018, their classifier without hidden units. All values of L2 that share their training rows
see the same minibatches in the same order, and are trained in one program, those of several folds side by side. Sums
are associated differently from those of one fit after the other, so single weights differ by rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.learner import Problem, Rows, Trained
from cseb.tasks.transfer.optimisers import OPTIMISERS, Optimiser

SEED = 1111
GROUP = 5  # problems trained together; their arrays still fit a cache
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
    """Trains up to GROUP problems with equally many rows together.

    A step for one problem is some twenty operations on arrays so small that Python takes longer to begin each than the
    processor to do it.
    """

    def __init__(self, settings: Settings, features: Vectors, labels: Labels, classes: int) -> None:
        self.settings, self.labels = settings, labels
        self.x = np.empty((len(features), features.shape[1] + 1), dtype=np.float32)
        self.x[:, :-1] = features
        self.x[:, -1] = 1  # the bias is a weight like others, also to the L2 term
        self.targets = np.eye(classes, dtype=np.float32)[labels]  # (N, C)
        self.start = np.column_stack(initial(features.shape[1], classes))  # (C, D + 1)

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """As in `Learner`.

        One thread: two that take Python from each other after every operation need twice as long as one.
        """
        from threadpoolctl import threadpool_limits

        found: list[list[Trained]] = [[] for _ in problems]
        with threadpool_limits(1):
            for group in _groups(problems):
                for place, one in zip(group, self.fit([problems[place] for place in group]), strict=True):
                    found[place] = one
        return found

    def fit(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """P problems with equally many rows and values: L classifiers of each."""
        stream = np.random.RandomState(SEED)
        if problems[0].held is None:  # the stream is one for all problems, which are dealt the same places
            state = stream.get_state()
            sides = []
            for problem in problems:
                stream.set_state(state)
                sides.append(set_aside(problem.train, stream))
        else:
            sides = [(train, held) for train, held, _ in problems if held is not None]
        rows = np.stack([train for train, _ in sides])  # (P, n)
        training = _Training(self, np.asarray([problem.values for problem in problems]), [held for _, held in sides])
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # a wild encoder, not our fault
            for _ in range(rounds(self.settings)):
                for _ in range(self.settings.passes):
                    order = stream.permutation(rows.shape[1])
                    training.go_through(rows[training.live][:, order])
                if not training.look():
                    break
        return [
            [
                Trained(count / len(held), lambda rows, weights=weights: (self.x[rows] @ weights.T).argmax(axis=1))  # type: ignore[misc]
                for count, weights in zip(counts, best, strict=True)
            ]
            for (_, held), counts, best in zip(sides, training.most.tolist(), training.best, strict=True)
        ]


def _groups(problems: Sequence[Problem]) -> Iterator[list[int]]:
    """Places of problems that can be trained together."""
    alike: dict[tuple[int, bool, int], list[int]] = {}
    for place, (train, held, values) in enumerate(problems):
        alike.setdefault((len(train), held is None, len(values)), []).append(place)
    for places in alike.values():
        for start in range(0, len(places), GROUP):
            yield places[start : start + GROUP]


class _Training:
    """The L classifiers of P problems; `weights` (P', L, C, D + 1) are those of the problems `live`, still in training.

    values: (P, L), of L2. held: the rows of each problem that say when to stop.
    """

    def __init__(self, owner: Batched, values: Vectors, held: Sequence[Rows]) -> None:
        self.owner, settings = owner, owner.settings
        self.held, self.right = [owner.x[rows] for rows in held], [owner.labels[rows] for rows in held]
        self.weights = np.tile(owner.start, (*values.shape, 1, 1))
        self.decay = values.astype(np.float32)[:, :, None, None]
        self.optimiser: Optimiser = OPTIMISERS[settings.optimiser](settings.learning_rate, self.weights)
        self.buffer = np.empty((len(values) * settings.batch, owner.x.shape[1]), dtype=np.float32)
        self.live = np.arange(len(values))
        self.best = self.weights.copy()
        # right answers, whole numbers: a float32 fraction would turn ties into gains
        self.most = np.full(values.shape, -1)
        self.failures = np.zeros(values.shape, dtype=int)

    def go_through(self, rows: Rows) -> None:
        """One pass over the training rows (P', n) of the problems in training, in this order."""
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

    def look(self) -> bool:
        """Score on the held rows, keep what has gained, let go of problems whose values have all failed too often.

        False: none is left. A value that has failed too often goes on with the others of its problem, unheeded.
        """
        tenacity = self.owner.settings.tenacity
        for problem, weights in zip(self.live, self.weights, strict=True):
            guesses = (weights.reshape(-1, weights.shape[-1]) @ self.held[problem].T).reshape(*weights.shape[:2], -1)
            counts = (guesses.argmax(axis=1) == self.right[problem]).sum(axis=1)  # (L,)
            heeded = self.failures[problem] <= tenacity
            gained = heeded & (counts > self.most[problem])
            self.most[problem, gained], self.best[problem, gained] = counts[gained], weights[gained]
            self.failures[problem, heeded & ~gained] += 1  # in all, not in a row
        stays = np.asarray((self.failures[self.live] <= tenacity).any(axis=1))
        if not stays.all():
            self.live, self.weights, self.decay = self.live[stays], self.weights[stays], self.decay[stays]
            self.optimiser.keep(stays)
        return bool(stays.any())


def softmax(z: Vectors, axis: int = 1) -> Vectors:
    """Over one axis, in place."""
    z -= z.max(axis=axis, keepdims=True)
    np.exp(z, out=z)
    z /= z.sum(axis=axis, keepdims=True)
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
