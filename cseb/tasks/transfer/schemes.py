"""Which rows a classifier is trained on, how its regularisation is chosen, and which rows it is scored on.

Source: Conneau & Kiela 2018: nested cross-validation, cross-validation on the training set, or a fixed dev set.
Folds are those of scikit-learn since 0.22; older versions deal rows out differently.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels
from cseb.tasks.transfer.learner import Learner, Problem, Recipe, Rows, Trained

SEED = 1111
Points = npt.NDArray[np.float64]


class Guess(NamedTuple):
    """predicted: the class of each scored row (N,). dev: the dev accuracy of the value chosen for this row."""

    predicted: Labels
    dev: Points


def folds(labels: Labels, k: int) -> list[tuple[Rows, Rows]]:
    """K times the rows to train on and the rows left out, every class in the same proportion."""
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(k, shuffle=True, random_state=SEED).split(np.zeros(len(labels)), labels))


def nested(learner: Learner, recipe: Recipe, labels: Labels) -> Guess:
    """Every row is scored by the classifier of the outer fold that leaves it out."""
    outer = folds(labels, recipe.folds)
    inner = [problem for train, _ in outer for problem in searches(recipe, train, labels)]
    found = learner.fit_all(inner)
    width = len(inner) // len(outer)
    chosen = [best(recipe, found[width * fold : width * (fold + 1)]) for fold in range(len(outer))]
    finals = learner.fit_all(
        [Problem(train, None, (value,)) for (train, _), (value, _) in zip(outer, chosen, strict=True)]
    )
    guess = Guess(np.empty(len(labels), dtype=np.int64), np.empty(len(labels)))
    for (_, test), (_, dev), [final] in zip(outer, chosen, finals, strict=True):
        guess.predicted[test], guess.dev[test] = final.predict(test), dev
    return guess


def on_train(learner: Learner, recipe: Recipe, labels: Labels, train: int) -> Guess:
    """The first `train` rows choose and train the classifier, the others are scored."""
    rows = np.arange(train)
    value, dev = best(recipe, learner.fit_all(searches(recipe, rows, labels)))
    [[final]] = learner.fit_all([Problem(rows, None, (value,))])
    return _on_the_rest(final, dev, labels, train)


def fixed(learner: Learner, recipe: Recipe, labels: Labels, train: int, dev: int) -> Guess:
    """First `train` rows, then `dev` rows that choose; the others are scored, by the very classifier that was chosen.

    The reference trains that one again on the same rows from the same start, which gives the same classifier.
    """
    [found] = learner.fit_all([Problem(np.arange(train), np.arange(train, train + dev), recipe.grid)])
    value, score = best(recipe, [found])
    return _on_the_rest(found[recipe.grid.index(value)], score, labels, train + dev)


def searches(recipe: Recipe, rows: Rows, labels: Labels) -> list[Problem]:
    """The problems whose scores choose the regularisation for these rows."""
    inner = folds(labels[rows], recipe.folds)[: recipe.inner]
    return [Problem(rows[train], rows[held], recipe.grid) for train, held in inner]


def best(recipe: Recipe, found: Sequence[Sequence[Trained]]) -> tuple[float, float]:
    """The value with the best mean over folds, rounded, the first of equals, and the mean accuracy it has."""
    each = list(zip(*found, strict=True))  # by value, then by fold
    place = int(np.argmax([_percent([_criterion(one) for one in ones]) for ones in each]))
    return recipe.grid[place], _percent([one.accuracy for one in each[place]])


def _criterion(one: Trained) -> float:
    return one.accuracy if one.criterion is None else one.criterion


def _percent(parts: Sequence[float]) -> float:
    return float(np.round(100 * np.mean(parts), 2))


def _on_the_rest(final: Trained, dev: float, labels: Labels, start: int) -> Guess:
    rows = np.arange(start, len(labels))
    return Guess(final.predict(rows), np.full(len(rows), dev))
