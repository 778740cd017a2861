"""Logistic regression trained to convergence: another estimator than SentEval's, and one that nothing stops early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.learner import Problem, Rows, Trained

Points = npt.NDArray[np.float64]

STEPS = 10_000  # far more than are needed here: a warning would say that it has not converged
TO_CHOOSE, TO_PREDICT = 1e-4, 1e-6  # largest slope left; with a fixed dev set the classifier that is chosen predicts


class Converged:
    """scikit-learn's LogisticRegression with its default penalty, L2; a value of the grid is its C.

    It takes the features as they are, so an encoder with short vectors wants a larger C, which is chosen by the mean
    log probability of the held labels: on a hundred held rows the accuracies of two values are often equal or one row
    apart, so that rounding on another processor would choose. Newton steps in double precision for the same reason:
    scikit-learn's own choices stop where the seventh digit of an embedding still decides classes.
    """

    def __init__(self, features: Vectors, labels: Labels, classes: int) -> None:
        self.features, self.labels = features.astype(np.float64), labels

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """As in `Learner`; rows need not be set aside, nothing is stopped.

        One thread: on matrices as small as these several wait for one another, for a minute where one takes a second.
        """
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return [[self.fit(problem, value) for value in problem.values] for problem in problems]

    def fit(self, problem: Problem, value: float) -> Trained:
        """One classifier."""
        from sklearn.linear_model import LogisticRegression

        held = problem.held
        tolerance = TO_PREDICT if held is None else TO_CHOOSE
        model: Any = LogisticRegression(C=value, solver="newton-cg", tol=tolerance, max_iter=STEPS)
        model.fit(self.features[problem.train], self.labels[problem.train])

        def predict(rows: Rows) -> Labels:
            guess: Labels = model.predict(self.features[rows])
            return guess

        if held is None:
            return Trained(0.0, predict)
        accuracy = float((predict(held) == self.labels[held]).mean())
        return Trained(accuracy, predict, _log_probability(model, self.features[held], self.labels[held]))


def _log_probability(model: Any, features: Points, labels: Labels) -> float:
    """Mean over the rows whose label the model knows; no logarithm of a probability that has become 0."""
    from scipy.special import log_softmax

    logits = model.decision_function(features)
    if logits.ndim == 1:  # two classes: the logit of the second
        logits = np.column_stack([np.zeros(len(logits)), logits])
    [rows] = np.nonzero(np.isin(labels, model.classes_))
    logs = log_softmax(logits[rows], axis=1)[np.arange(len(rows)), np.searchsorted(model.classes_, labels[rows])]
    return float(logs.mean()) if len(rows) else 0.0
