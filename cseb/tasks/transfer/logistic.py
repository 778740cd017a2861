"""Logistic regression trained to convergence, unlike SentEval's classifier, which stops early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.learner import Problem, Rows, Trained

Points = npt.NDArray[np.float64]

STEPS = 10_000  # far more than needed; scikit-learn warns if they do not suffice
TO_CHOOSE, TO_PREDICT = 1e-4, 1e-6  # tolerances; with a fixed dev set the chosen classifier predicts


class Converged:
    """scikit-learn's LogisticRegression with its default penalty, L2; a value of the grid is its C.

    Features are not scaled, so embeddings of small norm need a larger C. It is chosen by the mean log probability of
    held-out labels: accuracies of two values are often equal or one row apart, so that rounding would decide. Newton
    steps in double precision for the same reason: with scikit-learn's defaults the seventh digit of an embedding
    changes predictions.
    """

    def __init__(self, features: Vectors, labels: Labels, classes: int) -> None:
        self.features, self.labels = features.astype(np.float64), labels

    def fit_all(self, problems: Sequence[Problem]) -> list[list[Trained]]:
        """Return classifiers as in `Learner`; there is no early stopping.

        One thread: with small matrices several threads take a minute where one takes a second.
        """
        from threadpoolctl import threadpool_limits

        with threadpool_limits(1):
            return [[self.fit(problem, value) for value in problem.values] for problem in problems]

    def fit(self, problem: Problem, value: float) -> Trained:
        """Return one classifier."""
        from sklearn.linear_model import LogisticRegression

        held_out = problem.held_out
        tolerance = TO_PREDICT if held_out is None else TO_CHOOSE
        model: Any = LogisticRegression(C=value, solver="newton-cg", tol=tolerance, max_iter=STEPS)
        model.fit(self.features[problem.train], self.labels[problem.train])

        def predict(rows: Rows) -> Labels:
            guess: Labels = model.predict(self.features[rows])
            return guess

        if held_out is None:
            return Trained(0.0, predict)
        accuracy = float((predict(held_out) == self.labels[held_out]).mean())
        return Trained(accuracy, predict, _log_probability(model, self.features[held_out], self.labels[held_out]))


def _log_probability(model: Any, features: Points, labels: Labels) -> float:
    """Return the mean over the rows whose label the model knows."""
    from scipy.special import log_softmax

    logits = model.decision_function(features)
    if logits.ndim == 1:  # two classes: the logit of the second
        logits = np.column_stack([np.zeros(len(logits)), logits])
    [rows] = np.nonzero(np.isin(labels, model.classes_))
    logs = log_softmax(logits[rows], axis=1)[np.arange(len(rows)), np.searchsorted(model.classes_, labels[rows])]
    return float(logs.mean()) if len(rows) else 0.0
