"""Labelled sentences: folds, predictions that no classifier has seen, K-means, and figures worked out by hand."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression

from cseb.errors import BadData
from cseb.tasks.influence import deal
from cseb.tasks.labelled import Classification, Clustering, Labelled, classification, clustering, labelled, macro_f1

NONE = np.zeros(60, dtype=np.int64)
TEXTS = [f"s{n}" for n in range(60)]
THREE = labelled(TEXTS, ["x", "y", "z"] * 20, "t")
SIX = Labelled(TEXTS[:6], np.array([0, 0, 0, 1, 1, 2]))


def embed(sentences: Sequence[str]) -> np.ndarray:
    """Three blobs that overlap; the blob of s0, s3, s6, ... is the first, and so on."""
    centres = np.array([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]])
    rows = [centres[int(text[1:]) % 3] + np.random.default_rng(int(text[1:])).standard_normal(4) for text in sentences]
    return np.array(rows, dtype=np.float32)


def test_accuracy_and_macro_f1_by_hand() -> None:
    data = Classification(SIX, np.array([0, 1, 0, 1, 0, 1]))
    items = np.array([0, 0, 1, 1, 0, 2], dtype=np.float32)
    outcome = data.outcome(items)
    assert outcome.value == outcome.detail["accuracy"] == pytest.approx(100 * 4 / 6)
    # a: 2 hits of 3 predicted and 3 there; b: 1 of 2 and 2; c: 1 of 1 and 1
    assert outcome.detail["macro_f1"] == pytest.approx(100 * (2 / 3 + 1 / 2 + 2 / 2) / 3)
    assert macro_f1(np.zeros(6, dtype=np.float32), SIX.labels) == pytest.approx((2 * 3 / 9 + 0 + 0) / 3)
    right = data.influence(items)
    assert right == pytest.approx([100 / 3, 100 / 3, -200 / 3, 100 / 3, -200 / 3, 100 / 3])


def test_predictions_are_those_of_a_converged_classifier_that_has_not_seen_the_fold() -> None:
    data = classification(THREE, 5, "t")
    items = data.items(embed)
    x, y = embed(TEXTS).astype(float), THREE.labels
    for fold in range(5):
        test = data.folds == fold
        mean, sd = x[~test].mean(axis=0), x[~test].std(axis=0)
        model = LogisticRegression(C=1.0, tol=1e-8, max_iter=100_000).fit((x[~test] - mean) / sd, y[~test])
        assert items[test].tolist() == model.predict((x[test] - mean) / sd).tolist()
    outcome = data.outcome(items)
    assert 60 < (outcome.value or 0) < 100
    assert outcome.detail["macro_f1"] == pytest.approx(100 * metrics.f1_score(y, items, average="macro"))
    each = [outcome.detail[f"accuracy/fold{n}"] or 0.0 for n in range(1, 6)]
    assert np.average(each, weights=np.bincount(data.folds)) == pytest.approx(outcome.value)


def test_folds_are_even_stratified_and_never_split_a_text() -> None:
    labels = np.array([0] * 30 + [1] * 20 + [2] * 10)
    groups = np.arange(60)
    groups[1] = groups[0]
    groups[59] = groups[58]
    folds = deal(groups, labels, 5, "t")
    assert folds[1] == folds[0]
    assert folds[59] == folds[58]
    counts = np.array([np.bincount(folds[labels == label], minlength=5) for label in range(3)])
    assert (counts.max(axis=1) - counts.min(axis=1) <= 2).all()
    twins, classes = np.repeat(np.arange(12), 2), np.repeat([0, 1], 12)
    of_twins = deal(twins, classes, 3, "t")
    assert [np.bincount(classes[of_twins == fold]).tolist() for fold in range(3)] == [[4, 4]] * 3
    assert deal(np.arange(60), labels, 5, "t").tolist() == deal(np.arange(60), labels, 5, "t").tolist()
    assert deal(np.arange(10), NONE[:10], 5, "t").tolist() == [2, 4, 1, 3, 0, 1, 2, 3, 0, 4]  # on every machine


def test_v_measure_by_hand_and_as_scikit_learn_has_it() -> None:
    labels, result = np.array([0, 0, 1, 1]), np.array([0, 0, 1, 2], dtype=np.float32)
    outcome = Clustering(Labelled(["a", "b", "c", "d"], labels), 3).outcome(result)
    # H(label) = log 2, H(cluster) = 1.5 log 2, and clusters are pure: I = log 2, V = 2 / 2.5
    assert outcome.value == outcome.detail["v_measure"] == pytest.approx(80)
    assert outcome.detail["homogeneity"] == pytest.approx(100)
    assert outcome.detail["completeness"] == pytest.approx(200 / 3)
    assert outcome.detail["nmi"] == pytest.approx(80)
    # pairs together in both: 1; in labels: 2; in clusters: 1; expected 2 * 1 / 6; (1 - 1/3) / (1.5 - 1/3)
    assert outcome.detail["ari"] == pytest.approx(100 * (2 / 3) / (7 / 6))


def test_k_means_finds_blobs_whatever_their_scale() -> None:
    data = clustering(THREE, 0, "t")
    items = data.items(embed)
    assert data.clusters_wanted == 3
    assert set(items) == {0, 1, 2}
    assert data.outcome(items).value == pytest.approx(100 * metrics.v_measure_score(THREE.labels, items))
    assert (data.outcome(items).value or 0) > 40
    scaled = data.items(lambda texts: embed(texts) * np.linspace(0.1, 9, len(texts), dtype=np.float32)[:, None])
    assert metrics.adjusted_rand_score(items, scaled) == 1


def test_influence_on_v_measure_is_what_a_little_more_of_one_sentence_does() -> None:
    data = clustering(THREE, 4, "t")
    items = data.items(embed)

    def weighted(weights: np.ndarray) -> float:
        table = np.zeros((3, 4))
        np.add.at(table, (THREE.labels, items.astype(int)), weights)
        table /= table.sum()

        def entropy(shares: np.ndarray) -> float:
            return -sum(p * math.log(p) for p in shares.ravel() if p)

        label, cluster = entropy(table.sum(axis=1)), entropy(table.sum(axis=0))
        return 100 * 2 * (label + cluster - entropy(table)) / (label + cluster)

    assert weighted(np.ones(60)) == pytest.approx(data.outcome(items).value)
    h = 1e-5
    each = [(weighted(1 + h * row) - weighted(1 - h * row)) / (2 * h) for row in np.eye(60)]
    assert data.influence(items) == pytest.approx(60 * np.array(each), abs=1e-4)
    assert data.influence(items).sum() == pytest.approx(0, abs=1e-8)


def test_fewer_distinct_vectors_than_clusters_make_no_noise() -> None:
    data = clustering(THREE, 0, "t")
    items = data.items(lambda texts: np.array([[1.0, int(text[1:]) % 2] for text in texts], dtype=np.float32))
    assert len(set(items)) == 2


def test_equal_sentences_stand_or_fall_together_and_too_many_clusters_are_answered() -> None:
    data = Clustering(labelled(["a", "b", "a"], ["x", "y", "y"], "t"), 2)
    assert data.clusters().tolist() == Classification(data.data, NONE[:3]).clusters().tolist() == [0, 1, 0]
    with pytest.raises(BadData, match="t allows 2 to 60 clusters, as many as sentences; 61 asked for"):
        clustering(THREE, 61, "t")


def test_hashes_tell_texts_labels_and_use_apart() -> None:
    other = labelled(TEXTS, ["x", "z", "y"] * 20, "t")
    stored = (
        clustering(THREE, 0, "t"), clustering(THREE, 4, "t"), clustering(other, 0, "t"),
        classification(THREE, 5, "t"), classification(THREE, 6, "t"),
    )  # fmt: skip
    assert len({each.sha256() for each in stored}) == 5
    assert list(stored[0].sentences()) == list(stored[3].sentences()) == TEXTS
