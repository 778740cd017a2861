"""Bag-of-words baselines: TF-IDF and averaged random word vectors."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from cseb.tasks.task import Vectors
from cseb.words import split_words

WIDTH = 300  # of random word vectors


def words(sentence: str) -> list[str]:
    """Return the lower-cased words of a sentence, see `cseb.words`; composed and decomposed letters are the same."""
    return split_words(unicodedata.normalize("NFC", sentence).lower())


def tf_idf(sentences: Sequence[str]) -> Vectors:
    """Return (N, W) for N sentences: counts of words times log(N / number of sentences with the word)."""
    counts = [Counter(words(sentence)) for sentence in sentences]
    columns = {word: column for column, word in enumerate(sorted({word for count in counts for word in count}))}
    table = np.zeros((len(sentences), max(len(columns), 1)), dtype=np.float32)
    sentences_with = np.zeros(table.shape[1], dtype=np.int64)
    for row, count in enumerate(counts):
        for word, times in count.items():
            table[row, columns[word]] = times
            sentences_with[columns[word]] += 1
    table *= np.log(len(sentences) / np.maximum(sentences_with, 1)).astype(np.float32)  # in place: it may be large
    return table


def random_words(sentences: Sequence[str]) -> Vectors:
    """Return (N, 300) for N sentences: the mean of normal vectors, each drawn from the hash of its word."""
    vectors: dict[str, Vectors] = {}
    rows = []
    for sentence in sentences:
        for word in words(sentence):
            if word not in vectors:
                seed = int.from_bytes(sha256(word.encode()).digest()[:8], "big")
                vectors[word] = np.random.Generator(np.random.PCG64(seed)).standard_normal(WIDTH).astype(np.float32)
        rows.append(np.mean([vectors[word] for word in words(sentence)] or [np.zeros(WIDTH, dtype=np.float32)], axis=0))
    return np.asarray(rows, dtype=np.float32)
