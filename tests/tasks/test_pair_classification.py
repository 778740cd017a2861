"""Pair classification: average precision, thresholds from the other folds, and influences."""

import numpy as np
import pytest

from cseb.tasks.pairs import PairClassification, best_threshold, pair_classification

LEFT, RIGHT = [f"l{n}" for n in range(6)], [f"r{n}" for n in range(6)]
COSINES = np.array([0.9, 0.8, 0.7, 0.6, 0.55, 0.4], dtype=np.float32)
LABELS = np.array([1, 0, 1, 1, 0, 0])
TASK = PairClassification(LEFT, RIGHT, LABELS, np.array([0, 0, 1, 1, 0, 1]))


def drawn(count: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Cosines with ties and the classes they predict badly."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, count)
    return np.round(0.3 * labels + rng.uniform(size=count) / 2, 2).astype(np.float32), labels


def test_figures_are_those_of_the_libraries() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    cosines, labels = drawn()
    task = PairClassification([str(n) for n in range(200)], ["x"] * 200, labels, np.arange(200) % 5)
    detail = task.outcome(cosines).detail
    assert detail["average_precision"] == pytest.approx(100 * metrics.average_precision_score(labels, cosines))
    predicted = {}
    for f1 in (False, True):
        predicted[f1] = np.empty(200)
        for fold in range(5):
            rest = task.folds != fold
            threshold = best_threshold(cosines[rest].astype(float), labels[rest], f1=f1)
            predicted[f1][~rest] = cosines[~rest] >= threshold
    assert detail["accuracy"] == pytest.approx(100 * metrics.accuracy_score(labels, predicted[False]))
    assert detail["f1"] == pytest.approx(100 * metrics.f1_score(labels, predicted[True]))


def test_thresholds_are_those_of_sentence_transformers() -> None:
    evaluation = pytest.importorskip("sentence_transformers.sentence_transformer.evaluation")
    library = evaluation.BinaryClassificationEvaluator
    rng = np.random.default_rng(2)
    labels = rng.integers(0, 2, 100)
    scores = 0.3 * labels + rng.uniform(size=100)  # no ties: the library cuts between equal scores too
    _, accurate = library.find_best_acc_and_threshold(scores, labels, True)
    *_, precise = library.find_best_f1_and_threshold(scores, labels, True)
    assert best_threshold(scores, labels, f1=False) == pytest.approx(accurate)
    assert best_threshold(scores, labels, f1=True) == pytest.approx(precise)


def test_a_threshold_never_separates_equal_scores_and_may_be_infinite() -> None:
    assert best_threshold(np.array([0.5, 0.5, 0.1]), np.array([1, 0, 0]), f1=True) == pytest.approx(0.3)
    assert best_threshold(np.array([0.9, 0.5]), np.array([0, 0]), f1=False) == np.inf
    assert best_threshold(np.array([0.9, 0.5]), np.array([1, 1]), f1=False) == -np.inf


def test_influence_is_the_derivative_of_average_precision() -> None:
    cosines, labels = drawn(40)
    task = PairClassification([str(n) for n in range(40)], ["x"] * 40, labels, np.arange(40) % 5)
    influence = task.influence(cosines)
    assert influence.sum() == pytest.approx(0, abs=1e-9)
    for place in range(40):  # one more copy of a pair among many copies of all
        places = np.append(np.tile(np.arange(40), 500), place)
        moved = (task.part(places).outcome(cosines[places]).value or 0) - (task.outcome(cosines).value or 0)
        assert moved * len(places) == pytest.approx(influence[place], rel=2e-3, abs=1e-2)


def test_a_collapsed_encoder_has_no_score_and_one_class_no_task() -> None:
    for items in (np.full(6, 0.5, dtype=np.float32), np.append(COSINES[:5], np.float32("nan"))):
        assert set(TASK.outcome(items).detail.values()) == {None}
        assert np.isnan(TASK.influence(items)).all()


def test_pairs_that_share_a_sentence_are_in_one_fold() -> None:
    task = pair_classification(["a", "b", "c", "d", "e"], ["b", "c", "x", "y", "z"], [1, 0, 1, 0, 1], 3, "t")
    assert len(set(task.folds[:3].tolist())) == 1
    assert task.clusters()[:3].tolist() == [0, 0, 0]
    assert set(task.folds.tolist()) == {0, 1, 2}
