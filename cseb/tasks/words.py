"""Bag-of-words baselines: TF-IDF and averaged random word vectors. Words are those of `cseb.words.folded_words`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from hashlib import sha256

import numpy as np

from cseb.tasks.task import Vectors
from cseb.words import folded_words

WIDTH = 300  # of random word vectors


class TfIdf:
    """Counts of words times their inverse document frequency among training sentences.

    The weight of a word is log((N + 1) / (n + 1)), where n of N training sentences have it; an unseen word has the
    largest weight. Columns are the words of the sentences embedded together.
    """

    def __init__(self, training: Iterable[str]) -> None:
        self.sentences, self.with_word = 0, Counter[str]()
        for sentence in training:
            self.sentences += 1
            self.with_word.update(set(folded_words(sentence)))

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        """Return (N, W) for N sentences with W distinct words."""
        table, words = counts(sentences)
        frequencies = np.array([self.with_word[word] for word in words], dtype=np.float64)
        table *= np.log((self.sentences + 1) / (frequencies + 1)).astype(np.float32)
        return table


def transductive_tf_idf(sentences: Sequence[str]) -> Vectors:
    """Return (N, W) for N sentences: counts of words times log(N / n), where n of these sentences have the word."""
    table, _ = counts(sentences)
    frequencies = np.count_nonzero(table, axis=0)
    table *= np.log(len(sentences) / np.maximum(frequencies, 1)).astype(np.float32)  # in place: it may be large
    return table


def counts(sentences: Sequence[str]) -> tuple[Vectors, list[str]]:
    """Return counts (N, W) of the W distinct words of N sentences, and the words; one empty column without words."""
    by_sentence = [Counter(folded_words(sentence)) for sentence in sentences]
    words = sorted({word for counter in by_sentence for word in counter}) or [""]
    columns = {word: column for column, word in enumerate(words)}
    table = np.zeros((len(sentences), len(words)), dtype=np.float32)
    for row, counter in enumerate(by_sentence):
        for word, times in counter.items():
            table[row, columns[word]] = times
    return table, words


def random_words(sentences: Sequence[str]) -> Vectors:
    """Return (N, 300) for N sentences: the mean of normal vectors, each drawn from the hash of its word."""
    vectors: dict[str, Vectors] = {}
    rows = []
    for sentence in sentences:
        words = folded_words(sentence)
        for word in words:
            if word not in vectors:
                seed = int.from_bytes(sha256(word.encode()).digest()[:8], "big")
                vectors[word] = np.random.Generator(np.random.PCG64(seed)).standard_normal(WIDTH).astype(np.float32)
        rows.append(np.mean([vectors[word] for word in words] or [np.zeros(WIDTH, dtype=np.float32)], axis=0))
    return np.asarray(rows, dtype=np.float32)
