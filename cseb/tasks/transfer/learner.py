"""The contract between learners (how classifiers are trained) and schemes (on which rows)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors

Rows = npt.NDArray[np.intp]  # places in the features


class Problem(NamedTuple):
    """Classifiers to be trained on the same rows, one for each value of the regularisation.

    held: the rows that say when to stop, or None, where the learner sets some of `train` aside if it needs them.
    """

    train: Rows
    held: Rows | None
    values: Sequence[float]


class Trained(NamedTuple):
    """accuracy: on the held rows. predict: M rows to their classes (M,).

    criterion: what the regularisation is chosen by, the higher the better; None if by the accuracy, as in SentEval.
    """

    accuracy: float
    predict: Callable[[Rows], Labels]
    criterion: float | None = None


class Learner(Protocol):
    """Trains classifiers on rows of features that it has been given."""

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """For each problem one classifier for each of its values, in their order."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How the classifiers of a protocol are trained.

    learner: makes one from features (N, D), labels (N,) and the number of classes. folds: k of every cross-validation.
    grid: values of the regularisation, the one that wins ties first. inner: how many of the k inner folds are used.
    """

    learner: Callable[[Vectors, Labels, int], Learner]
    folds: int
    grid: tuple[float, ...]
    inner: int
