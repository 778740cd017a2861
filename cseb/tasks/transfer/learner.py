"""Interface between learners (how classifiers are trained) and schemes (on which rows)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
