"""Converged logistic regression."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from cseb.embedders.word_vectors import random_words
from cseb.tasks.names import parse_tasks
from cseb.tasks.transfer.linear import Problem
from cseb.tasks.transfer.schemes import LOGREG_RECIPE, Converged

from .conftest import noisy


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_chooses_by_the_probability_of_the_held_labels(classes: int) -> None:
    x, y = noisy(240, 6, classes)
    rows, held_out = np.arange(180), np.arange(180, 240)
    result = Converged(x, y, classes).fit_all([Problem(rows, held_out, (0.01, 1.0, 100.0))])[0]
    for value, each in zip((0.01, 1.0, 100.0), result, strict=True):
        model = LogisticRegression(C=value, tol=1e-10, max_iter=100_000).fit(x[rows].astype(float), y[rows])
        assert each.criterion == pytest.approx(
            -log_loss(y[held_out], model.predict_proba(x[held_out].astype(float))), abs=1e-4
        )


def test_the_grid_is_that_of_the_protocol() -> None:
    assert LOGREG_RECIPE.grid == (0.1, 1.0, 10.0, 100.0)


def test_a_label_that_the_training_rows_lack_does_not_choose() -> None:
    x, y = noisy(240, 6, 3)
    rows, result = np.nonzero(y[:180] != 1)[0], np.arange(180, 240)
    learnt = result[y[result] != 1]
    learner = Converged(x, y, 3)
    [[all_of_them], [those]] = learner.fit_all([Problem(rows, result, (1.0,)), Problem(rows, learnt, (1.0,))])
    assert all_of_them.criterion == those.criterion
    assert all_of_them.accuracy < those.accuracy
    [[none]] = learner.fit_all([Problem(rows, result[y[result] == 1], (1.0,))])
    assert (none.accuracy, none.criterion) == (0.0, 0.0)


def test_rounding_moves_no_prediction_of_banking77() -> None:
    task = parse_tasks("banking77")[0].load(None)
    vectors = 30 * random_words(task.sentences())[:, :40]  # about as long as those of a BERT
    noise = 1 + 1e-6 * np.random.default_rng(0).standard_normal(vectors.shape)
    items = [task.items(lambda texts, table=table: table) for table in (vectors, (vectors * noise).astype(np.float32))]
    assert np.array_equal(*items)  # neither a class nor the dev accuracy of the chosen C


def test_the_classifier_that_predicts_is_the_optimum() -> None:
    task = parse_tasks("banking77")[0].load(None)
    vectors = 10 * random_words(task.sentences())[:, :40]
    train, test = task.parts
    rows, rest = np.arange(len(train.labels)), np.arange(len(train.labels), len(vectors))
    labels = np.concatenate([train.labels, test.labels])
    [[result]] = Converged(vectors, labels, task.classes).fit_all([Problem(rows, None, (1.0,))])
    tight = LogisticRegression(C=1.0, solver="newton-cg", tol=1e-9, max_iter=10_000)
    tight.fit(vectors[rows].astype(float), labels[rows])
    assert np.array_equal(result.predict(rest), tight.predict(vectors[rest].astype(float)))
