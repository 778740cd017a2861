"""Bag-of-words baselines: TF-IDF and averaged random word vectors, which learn nothing."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from hashlib import sha256

import numpy as np

from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Embed, Vectors
from cseb.words import split_words

WIDTH = 300  # of random word vectors, as word vectors mostly are


def words(sentence: str) -> list[str]:
    """Return the lower-cased words of a sentence, see `cseb.words`; composed and decomposed letters are the same."""
    return split_words(unicodedata.normalize("NFC", sentence).lower())


def tf_idf(sentences: Sequence[str]) -> Vectors:
    """N sentences to (N, W): counts of words times log(N / sentences with the word)."""
    counts = [Counter(words(sentence)) for sentence in sentences]
    known = {word: column for column, word in enumerate(sorted({word for count in counts for word in count}))}
    table = np.zeros((len(sentences), max(len(known), 1)), dtype=np.float32)
    sentences_with = np.zeros(table.shape[1], dtype=np.int64)
    for row, count in enumerate(counts):
        for word, times in count.items():
            table[row, known[word]] = times
            sentences_with[known[word]] += 1
    table *= np.log(len(sentences) / np.maximum(sentences_with, 1)).astype(np.float32)  # in place: it may be large
    return table


def random_words(sentences: Sequence[str]) -> Vectors:
    """N sentences to (N, 300): the mean of normal vectors, each drawn from its word's own hash."""
    drawn: dict[str, Vectors] = {}
    rows = []
    for sentence in sentences:
        for word in words(sentence):
            if word not in drawn:
                seed = int.from_bytes(sha256(word.encode()).digest()[:8], "big")
                drawn[word] = np.random.Generator(np.random.PCG64(seed)).standard_normal(WIDTH).astype(np.float32)
        rows.append(np.mean([drawn[word] for word in words(sentence)] or [np.zeros(WIDTH, dtype=np.float32)], axis=0))
    return np.asarray(rows, dtype=np.float32)


BASELINES: dict[str, Embed] = {"TF-IDF": tf_idf, "mean of random word vectors": random_words}


def baselines(tasks: Sequence[str]) -> dict[str, list[float | None]]:
    """Points on each of these embedded tasks (their data come with cseb), by the name of the baseline."""
    loaded = [(task, load_task(task, None)) for task in parse_tasks(",".join(tasks))]
    return {name: [outcome.value for outcome, _ in score_all(loaded, embed)] for name, embed in BASELINES.items()}
