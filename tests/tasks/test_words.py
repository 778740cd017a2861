"""Bag-of-words baselines by hand."""

import math

import numpy as np
import pytest

from cseb.embedders.word_vectors import TfIdf, random_words, transductive_tf_idf


def test_tf_idf_weights_words_by_their_rarity_among_training_sentences() -> None:
    vectors = TfIdf(["a cat", "a bird", "a cat and a bird"])(["A cat, a dog", "a bird"])
    rarity = math.log(4 / 3)  # of two in three sentences; `a` is in all of them
    assert vectors[0].tolist() == pytest.approx([0, 0, rarity, math.log(4)])  # a bird cat dog
    assert vectors[1].tolist() == pytest.approx([0, rarity, 0, 0])


def test_tf_idf_of_a_sentence_does_not_depend_on_the_others() -> None:
    embed = TfIdf(["a cat sat", "a dog sat", "one bird"])
    alone, among = embed(["a cat", "a dog"]), embed(["a cat", "a dog", "a bird", "nothing new"])
    assert alone[0] @ alone[1] == pytest.approx(among[0] @ among[1])


def test_transductive_tf_idf_weights_words_by_their_rarity_among_the_sentences_themselves() -> None:
    vectors = transductive_tf_idf(["A cat, a dog", "a cat", "a bird!"])
    assert vectors[:, 0].tolist() == [0, 0, 0]  # `a` is everywhere
    assert vectors[0].tolist() == pytest.approx([0, 0, math.log(3 / 2), math.log(3)])  # a bird cat dog
    assert vectors[2].tolist() == pytest.approx([0, math.log(3), 0, 0])


def test_sentences_without_words_have_the_zero_vector() -> None:
    for embed in (TfIdf(["a"]), transductive_tf_idf, random_words):
        assert not embed(["?!", ""]).any()


def test_random_words_depend_on_words_alone() -> None:
    vectors = random_words(["a cat sat", "sat A cat", "a dog sat", ""])
    assert np.allclose(vectors[0], vectors[1], atol=1e-6)
    assert not np.allclose(vectors[0], vectors[2])
