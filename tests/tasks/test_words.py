"""Bag-of-words baselines by hand."""

import math

import numpy as np
import pytest

from cseb.tasks.words import random_words, tf_idf


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
