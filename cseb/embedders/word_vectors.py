"""Bag-of-words baselines: averaged word vectors, TF-IDF and random word vectors.

Rule: a sentence is lower-cased and split at white space; a token that the file does not have is split once more into
runs of letters, digits and combining marks, and single signs. Tokens that are still unknown are left out. A sentence
without a known token is the zero vector. Source: the bag-of-words baseline of Conneau & Kiela
2018.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import chain
from pathlib import Path

import numpy as np
import regex

from cseb.data import word_vectors
from cseb.data.corpus import WIKIPEDIA, read_corpus
from cseb.embedders.interface import Embedder
from cseb.errors import one_of
from cseb.records.record import Source
from cseb.tasks.task import Embed, Vectors
from cseb.text import quantity
from cseb.version import WORD_VERSIONS
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


SUFFIXES = (".txt", ".vec", ".txt.gz", ".vec.gz")
PIECES = regex.compile(r"[\w\p{M}\p{N}]+|[^\w\p{M}\p{N}\s]")
TF_IDF = "tf-idf"
BASELINES: Mapping[str, Embed] = {"tf-idf-transductive": transductive_tf_idf, "random": random_words}


def find(name: str) -> Embedder:
    """Return the embedder of word vectors, see `cseb.data.word_vectors`. Raises: BadData."""
    width = word_vectors.width_of(name)
    typed = f"glove:{name}" if word_vectors.is_packaged(name) else Path(name).name
    return Embedder(
        source=Source(name=typed, sha256=word_vectors.sha256(name)),
        method="mean of word vectors",
        resolved="word_vectors(lower=True, unknown='left out', empty='zero')@1",
        open=lambda: WordVectors(name, width),
        notes=(f"{quantity(width, 'number')} a word; lower-cased; unknown words are left out",),
    )


def baseline(name: str, data_dir: str = "") -> Embedder:
    """Return the embedder `words:tf-idf[:CORPUS]`, `words:tf-idf-transductive` or `words:random`.

    The document frequencies of TF-IDF are those of a corpus, by default of the sentences of Wikipedia that come with
    cseb; those of transductive TF-IDF are from the sentences of the tasks of one protocol. data_dir: as in
    `EncoderOptions`. Raises: BadSpec, BadData.
    """
    count, _, ref = name.partition(":")
    content, embed = name, BASELINES.get(name)
    if count == TF_IDF:
        corpus = read_corpus(ref or WIKIPEDIA, data_dir=data_dir or os.environ.get("CSEB_DATA_DIR", ""))
        content = f"{count}\0{corpus.sha256}"
    else:
        one_of((TF_IDF, *BASELINES), name, "words")
    return Embedder(
        source=Source(name=f"words:{name}", sha256=hashlib.sha256(content.encode()).hexdigest()),
        method="words alone",
        resolved=f"words(count={count!r})@{WORD_VERSIONS[count]}",
        open=lambda: embed or TfIdf(corpus),
        alone=not count.startswith(TF_IDF),
    )


class WordVectors:
    """The average of a sentence's word vectors. Only words that occur are kept in memory."""

    def __init__(self, name: str, width: int) -> None:
        self.name, self.width = name, width
        self.table: dict[str, Vectors] = {}
        self.looked_up: set[str] = set()

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        """Return the vectors (N, width) of N sentences."""
        split = [sentence.lower().split() for sentence in sentences]
        self._read({word for token in set(chain.from_iterable(split)) for word in (token, *PIECES.findall(token))})
        vectors = np.zeros((len(sentences), self.width), dtype=np.float32)
        for row, tokens in enumerate(split):
            known = [self.table[word] for token in tokens for word in self._pieces(token) if word in self.table]
            if known:
                vectors[row] = np.mean(known, axis=0)
        return vectors

    def _pieces(self, token: str) -> list[str]:
        return [token] if token in self.table else PIECES.findall(token)

    def _read(self, words: set[str]) -> None:
        """Look up the words that were not looked up before."""
        if missing := words - self.looked_up:
            self.table |= zip(*word_vectors.read_vectors(self.name, missing.__contains__), strict=True)
            self.looked_up |= missing
