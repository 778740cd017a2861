"""Baselines that count words, by hand and on the embedded world."""

import math

import numpy as np
import pytest

from cseb.tasks.words import baselines, random_words, tf_idf


def test_tf_idf_by_hand() -> None:
    found = tf_idf(["A cat, a dog", "a cat", "a bird!"])
    assert found[:, 0].tolist() == [0, 0, 0]  # `a` is everywhere
    assert found[0].tolist() == pytest.approx([0, 0, math.log(3 / 2), math.log(3)])  # a bird cat dog
    assert found[2].tolist() == pytest.approx([0, math.log(3), 0, 0])


def test_random_words_depend_on_words_alone() -> None:
    found = random_words(["a cat sat", "sat A cat", "a dog sat", ""])
    assert np.allclose(found[0], found[1], atol=1e-6)
    assert not np.allclose(found[0], found[2])
    assert not found[3].any()


def test_words_alone_are_worth_something_and_not_much() -> None:
    found = baselines(["snli-dev", "snli"])
    assert set(found) == {"TF-IDF", "mean of random word vectors"}
    assert all(point is not None and 0 < point < 60 for points in found.values() for point in points)
