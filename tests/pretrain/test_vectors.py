"""Tests of word vectors from counts of co-occurrence."""

from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.pretrain.sources import BadText
from benchmarks.pretrain.vectors import SMOOTHING, WINDOW, begin, counts, information, word_vectors


def test_counts_and_information_equal_a_loop_over_all_pairs() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 7, 60).astype(np.uint16)
    expected = np.zeros((8, 8))
    for left in range(60):
        for right in range(left + 1, min(60, left + WINDOW + 1)):
            expected[ids[left], ids[right]] += 1 / (right - left)
            expected[ids[right], ids[left]] += 1 / (right - left)
    table = counts(ids, 8)
    assert table == pytest.approx(expected, rel=1e-5)
    words = expected.sum(axis=1)
    contexts = words**SMOOTHING / (words**SMOOTHING).sum()
    for word in range(7):
        for context in range(7):
            probability = expected[word, context] / words[word]
            positive = np.log(max(1.0, probability / contexts[context]))
            assert information(table)[word, context] == pytest.approx(positive, abs=1e-5)
    assert not information(table)[7].any()


def test_pieces_in_the_same_contexts_have_similar_vectors() -> None:
    rng = np.random.default_rng(0)
    near, far = (10, 11, 12, 13), (20, 21, 22, 23)
    text = [[rng.choice([5, 6]), *rng.choice(near, 4)] for _ in range(400)] + [
        [7, *rng.choice(far, 4)] for _ in range(200)
    ]
    vectors = word_vectors(np.concatenate(rng.permutation(text)).astype(np.uint16), 30, 4)
    units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-9)
    assert units[5] @ units[6] > units[5] @ units[7] + 0.3


def test_embeddings_begin_with_the_vectors_and_keep_special_tokens(tmp_path: Path) -> None:
    embeddings = torch.nn.Embedding(20, 6)
    before = embeddings.weight.detach().clone()
    vectors = np.random.default_rng(0).normal(3, 2, (20, 8)).astype(np.float32)
    vectors[19] = 0  # a piece that never occurs
    np.save(tmp_path / "vectors.npy", vectors)
    begin(embeddings.weight, tmp_path / "vectors.npy")
    after = embeddings.weight.detach()
    assert torch.equal(after[[0, 1, 2, 3, 4, 19]], before[[0, 1, 2, 3, 4, 19]])
    assert after[5:19].std() == pytest.approx(float(before[5:19].std()))
    assert after[5:19].mean(dim=0).numpy() == pytest.approx(np.zeros(6), abs=1e-6)
    correlation = np.corrcoef(after[5:19].flatten(), (vectors[5:19, :6] - vectors[5:19, :6].mean(axis=0)).ravel())
    assert correlation[0, 1] == pytest.approx(1)
    with pytest.raises(BadText, match=r"Make it with python -m benchmarks\.pretrain\.vectors"):
        begin(embeddings.weight, tmp_path / "none" / "vectors.npy")
