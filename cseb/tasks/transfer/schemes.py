"""Rows on which a classifier is trained and scored, the selection of its regularisation, and the protocols' settings.

Source: Conneau & Kiela 2018: nested cross-validation, cross-validation on the training set, or a fixed dev set.
Folds are those of scikit-learn since 0.22; older versions assign rows differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.linear import FAST, SEED, TEST, Batched, Learner, Problem, Recipe, Rows, Trained

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


L2 = (1e-5, 1e-4, 1e-3, 1e-2)
TEST_RECIPE = Recipe(partial(Batched, TEST), folds=10, grid=L2, inner=10)
FAST_RECIPE = Recipe(partial(Batched, FAST), folds=5, grid=L2, inner=5)
LOGREG_RECIPE = Recipe(Converged, folds=5, grid=(0.1, 1.0, 10.0, 100.0), inner=1)


class Guess(NamedTuple):
    """The predicted class of each scored row (N,), and the dev accuracy of the value chosen for this row (N,)."""

    predicted: Labels
    dev: npt.NDArray[np.float64]


def folds(labels: Labels, k: int) -> list[tuple[Rows, Rows]]:
    """Return k stratified pairs of rows to train on and rows left out."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(k, shuffle=True, random_state=SEED).split(np.zeros(len(labels)), labels))


def nested(learner: Learner, recipe: Recipe, labels: Labels) -> Guess:
    """Return predictions of nested cross-validation."""
    outer = folds(labels, recipe.folds)
    inner = [problem for train, _ in outer for problem in searches(recipe, train, labels)]
    trained = learner.fit_all(inner)
    width = len(inner) // len(outer)
    chosen = [best(recipe, trained[width * fold : width * (fold + 1)]) for fold in range(len(outer))]
    finals = learner.fit_all(
        [Problem(train, None, (value,)) for (train, _), (value, _) in zip(outer, chosen, strict=True)]
    )
    guess = Guess(np.empty(len(labels), dtype=np.int64), np.empty(len(labels)))
    for (_, test), (_, dev), [final] in zip(outer, chosen, finals, strict=True):
        guess.predicted[test], guess.dev[test] = final.predict(test), dev
    return guess


def on_train(learner: Learner, recipe: Recipe, labels: Labels, train: int) -> Guess:
    """Select and train on the first `train` rows, and return predictions of the others."""
    rows = np.arange(train)
    value, dev = best(recipe, learner.fit_all(searches(recipe, rows, labels)))
    [[final]] = learner.fit_all([Problem(rows, None, (value,))])
    return _on_the_rest(final, dev, labels, train)


def fixed(learner: Learner, recipe: Recipe, labels: Labels, train: int, dev: int) -> Guess:
    """Train on the first `train` rows, select on the next `dev` rows, and return predictions of the others.

    The reference trains the selected classifier again from the same start, which gives the same classifier.
    """
    [trained] = learner.fit_all([Problem(np.arange(train), np.arange(train, train + dev), recipe.grid)])
    value, score = best(recipe, [trained])
    return _on_the_rest(trained[recipe.grid.index(value)], score, labels, train + dev)


def searches(recipe: Recipe, rows: Rows, labels: Labels) -> list[Problem]:
    """Return the problems whose scores select the regularisation for these rows."""
    inner = folds(labels[rows], recipe.folds)[: recipe.inner]
    return [Problem(rows[train], rows[held_out], recipe.grid) for train, held_out in inner]


def best(recipe: Recipe, trained: Sequence[Sequence[Trained]]) -> tuple[float, float]:
    """Return the value with the best rounded mean over folds, the first of equals, and its mean accuracy."""
    by_value = list(zip(*trained, strict=True))  # then by fold
    criteria = [[each.accuracy if each.criterion is None else each.criterion for each in folds] for folds in by_value]
    place = int(np.argmax([_percent(each) for each in criteria]))
    return recipe.grid[place], _percent([each.accuracy for each in by_value[place]])


def _percent(parts: Sequence[float]) -> float:
    return float(np.round(100 * np.mean(parts), 2))


def _on_the_rest(final: Trained, dev: float, labels: Labels, start: int) -> Guess:
    rows = np.arange(start, len(labels))
    return Guess(final.predict(rows), np.full(len(rows), dev))
