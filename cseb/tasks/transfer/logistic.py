"""Logistic regression trained to convergence: another estimator than SentEval's, and one that nothing stops early."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.learner import Problem, Rows, Trained

STEPS = 10_000  # far more than L-BFGS needs here: a warning would say that it has not converged


class Converged:
    """scikit-learn's LogisticRegression with its default penalty, L2; a value of the grid is its C.

    It takes the features as they are, so an encoder with short vectors wants a larger C.
    """

    def __init__(self, features: Vectors, labels: Labels, classes: int) -> None:
        self.features, self.labels = features, labels

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

        model: Any = LogisticRegression(C=value, max_iter=STEPS)
        model.fit(self.features[problem.train], self.labels[problem.train])

        def predict(rows: Rows) -> Labels:
            guess: Labels = model.predict(self.features[rows])
            return guess

        held = problem.held
        return Trained(0.0 if held is None else float((predict(held) == self.labels[held]).mean()), predict)
