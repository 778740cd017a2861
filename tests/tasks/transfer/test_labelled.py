"""Whole tasks: the accuracies of the reference, and every figure from the items alone."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Items
from cseb.tasks.transfer.labelled import Examples, LabelledTexts, features_of
from cseb.tasks.transfer.linear import Recipe
from cseb.tasks.transfer.schemes import FAST_RECIPE, TEST_RECIPE, folds

from .conftest import SHARED, hashed_words, noisy, real

CUTS = {"nested": (0, 240), "on_train": (0, 200, 240), "fixed": (0, 160, 200, 240)}
RECIPES = {"test": TEST_RECIPE, "fast": FAST_RECIPE}
# Accuracy and dev accuracy that the reference (princeton-nlp/SimCSE, SentEval/senteval/tools/validation.py) gives on
# `noisy`, on the CPU with torch 2.13 and scikit-learn 1.9.1. Made by running its three classes on the same arrays.
REFERENCE = {
    ("test", "nested", 2): (44.17, 47.61),
    ("test", "on_train", 2): (42.5, 48.0),
    ("test", "fixed", 2): (45.0, 42.5),
    ("fast", "nested", 2): (55.42, 68.98),
    ("fast", "on_train", 2): (67.5, 66.0),
    ("fast", "fixed", 2): (65.0, 72.5),
    ("test", "on_train", 3): (31.0, 44.5),
    ("test", "fixed", 3): (33.0, 52.5),
    ("fast", "on_train", 3): (55.0, 60.0),
    ("fast", "fixed", 3): (61.0, 52.5),
}


def synthetic(recipe: Recipe, scheme: str, classes: int) -> tuple[LabelledTexts, np.ndarray]:
    """A task whose sentence i is the number i, and the embedding of each."""
    n, width = (240, 6) if classes == 2 else (300, 8)
    x, y = noisy(n, width, classes)
    cuts = [*CUTS[scheme][:-1], n]
    parts = tuple(Examples(tuple((str(i),) for i in range(a, b)), tuple(y[a:b].tolist())) for a, b in pairwise(cuts))
    return LabelledTexts(parts, classes, recipe), x


def items_of(task: LabelledTexts, x: np.ndarray) -> Items:
    return task.items(lambda sentences: x[[int(sentence) for sentence in sentences]])


@pytest.mark.parametrize(("mode", "scheme", "classes"), REFERENCE)
def test_accuracies_are_those_of_the_reference(mode: str, scheme: str, classes: int) -> None:
    task, x = synthetic(RECIPES[mode], scheme, classes)
    detail = task.outcome(items_of(task, x)).detail
    assert (detail["accuracy"], detail["dev"]) == REFERENCE[mode, scheme, classes]


@real
@pytest.mark.parametrize(
    ("name", "expected"),
    [  # one of each protocol, and the others where there is time
        pytest.param("mr-fast", {"accuracy": 54.61, "dev": 55.14}, marks=pytest.mark.slow),
        ("cr-fast", {"accuracy": 64.32, "dev": 64.89}),
        pytest.param("subj-fast", {"accuracy": 63.92, "dev": 64.53}, marks=pytest.mark.slow),
        pytest.param("mpqa-fast", {"accuracy": 68.97, "dev": 69.11}, marks=pytest.mark.slow),
        pytest.param("sst2-fast", {"accuracy": 50.08, "dev": 52.75}, marks=pytest.mark.slow),
        pytest.param("mrpc-fast", {"accuracy": 69.51, "dev": 68.87, "f1": 79.29}, marks=pytest.mark.slow),
        ("trec-fast", {"accuracy": 48.6, "dev": 41.45}),
    ],
)
def test_real_data_give_the_accuracies_of_the_reference(name: str, expected: dict[str, float]) -> None:
    """The reference's whole evaluation, files and order included, was run on these embeddings."""
    task = parse_tasks(name)[0].load(SHARED)
    assert task.outcome(task.items(hashed_words)).detail == expected


PAIRS = LabelledTexts(
    (Examples((("a", "b"),), (1,)), Examples((("c", "d"), ("e", "f"), ("d", "g"), ("h", "i")), (1, 1, 0, 0))),
    2,
    TEST_RECIPE,
)


def test_figures_follow_from_items_alone() -> None:
    items = np.array([[1, 71.5], [1, 71.5], [1, 71.5], [0, 71.5]], dtype=np.float32)
    outcome = PAIRS.outcome(items)
    assert outcome.value == 75
    assert outcome.detail == {"accuracy": 75.0, "dev": 71.5, "f1": 80.0}  # 2 hits among 3 named and 2 real ones
    assert PAIRS.influence(items).tolist() == [25, 25, -75, 25]
    assert PAIRS.clusters().tolist() == [0, 1, 0, 2]  # d is in two pairs
    assert PAIRS.sentences() == list("abcdefdghi")
    items[:, 0] = 0
    assert PAIRS.outcome(items).detail == {"accuracy": 50.0, "dev": 71.5, "f1": 0.0}


def test_accuracies_of_folds_are_rounded_before_their_mean_is() -> None:
    task, _ = synthetic(replace(TEST_RECIPE, folds=7), "nested", 2)
    gold = np.asarray(task.parts[0].labels)
    tests = [test for _, test in folds(gold, 7)]
    differ = 0
    for zeros in range(240):
        predicted = np.arange(240) >= zeros
        each = [100 * float((gold[test] == predicted[test]).mean()) for test in tests]
        twice, once = np.round(np.mean(np.round(each, 2)), 2), np.round(np.mean(each), 2)
        items = np.column_stack([predicted, np.full(240, 12.34)]).astype(np.float32)
        assert task.outcome(items).detail == {"accuracy": twice, "dev": 12.34}
        differ += twice != once
    assert differ > 0


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_vectors_that_are_not_finite_have_no_score(value: float) -> None:
    task, x = synthetic(TEST_RECIPE, "nested", 2)
    x[3, 2] = value
    items = items_of(task, x)
    outcome = task.outcome(items)
    assert outcome.value is None
    assert outcome.detail == {"accuracy": None, "dev": None}
    assert np.isnan(task.influence(items)).all()


@pytest.mark.parametrize("vector", [[0.0], [1e30]])
def test_equal_vectors_are_worth_the_larger_class_without_a_warning(vector: list[float]) -> None:
    task, _ = synthetic(FAST_RECIPE, "fixed", 2)
    items = task.items(lambda sentences: np.array([vector] * len(sentences), dtype=np.float32))
    assert len(set(items[:, 0])) == 1


def test_features_of_a_pair_are_their_distance_and_product() -> None:
    vectors = {"a": [1.0, -2.0], "b": [3.0, 1.0]}
    result = features_of([("a", "b")], lambda sentences: np.array([vectors[s] for s in sentences], dtype=np.float32))
    assert result.tolist() == [[2, 3, 3, -2]]


def test_the_hash_is_that_of_sentences_labels_and_parts() -> None:
    first = Examples((("a",), ("b",)), (0, 1))
    both = [
        LabelledTexts(parts, 2, TEST_RECIPE).sha256()
        for parts in (
            (first,),
            (Examples((("a",),), (0,)), Examples((("b",),), (1,))),
            (replace(first, labels=(1, 0)),),
            (replace(first, texts=(("b",), ("a",))),),
        )
    ]
    assert len(set(both)) == 4
