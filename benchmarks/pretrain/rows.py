"""Rows of token ids to pre-train on: two segments of text each, as BERT's, cut to one length so that none is padded.

In half of the rows the second segment follows the first, in the other half it comes from another document (Devlin et
al. 2019, section 3.1, task 2). A pass over the text is a function of seed and number of the pass alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

CLS, SEP = 2, 3
UNRELATED = -100  # label of rows from text whose lines do not follow each other: ignored by the loss
SHORT = {32: 1.0}  # tokens of a row: fractions of the text
LONG = {128: 0.2, 64: 0.4, 32: 0.4}

Ids = npt.NDArray[np.uint16]
Starts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenisedText:
    """Documents as token ids.

    ids: (N,) of all sentences in turn. sentences: (S + 1,) where each starts in `ids`. documents: (D + 1,) where each
    starts in `sentences`. linked: (D,) whether the sentences of a document follow each other.
    """

    ids: Ids
    sentences: Starts
    documents: Starts
    linked: npt.NDArray[np.bool_]

    def save(self, path: Path) -> None:
        """Write one .npz file."""
        with path.open("wb") as file:
            np.savez(file, ids=self.ids, sentences=self.sentences, documents=self.documents, linked=self.linked)

    @classmethod
    def load(cls, path: Path) -> TokenisedText:
        """Read what `save` wrote."""
        with np.load(path, allow_pickle=False) as found:
            return cls(found["ids"], found["sentences"], found["documents"], found["linked"])


@dataclass(frozen=True, slots=True)
class Rows:
    """R rows of equal length T.

    ids: (R, T). first: (R,) tokens of [CLS], first segment and [SEP]. follows: (R,) 1, 0, or -100 where unknown.
    """

    ids: Ids
    first: Starts
    follows: Starts

    @property
    def shape(self) -> tuple[int, ...]:
        """(R, T)."""
        return self.ids.shape

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, which: slice | Starts) -> Rows:
        return Rows(self.ids[which], self.first[which], self.follows[which])


def rows_of_pass(text: TokenisedText, lengths: Mapping[int, float], seed: int, number: int) -> list[Rows]:
    """Every document once, in an order of its own, each at one of the lengths; one `Rows` per length."""
    rng = np.random.default_rng([seed, number])
    order = rng.permutation(len(text.linked))
    drawn = rng.choice(list(lengths), size=len(order), p=list(lengths.values()))
    found = [_rows(text, order[drawn == length], length, rng) for length in lengths]
    return [rows for rows in found if len(rows)]


def _rows(text: TokenisedText, documents: Starts, length: int, rng: np.random.Generator) -> Rows:
    if len(text.ids) < length:
        documents = documents[:0]
    found = [row for document in documents for row in _of_document(text, int(document), length, rng)]
    ids = np.full((len(found), length), SEP, dtype=np.uint16)  # the last of a row is [SEP]
    first = np.empty(len(found), dtype=np.int64)
    follows = np.empty(len(found), dtype=np.int64)
    for number, (one, other, label) in enumerate(found):
        ids[number, 0] = CLS
        ids[number, 1 : 1 + len(one)] = one
        ids[number, 2 + len(one) : -1] = other
        first[number], follows[number] = len(one) + 2, label
    return Rows(ids, first, follows)


def _of_document(
    text: TokenisedText, document: int, length: int, rng: np.random.Generator
) -> Iterator[tuple[Ids, Ids, int]]:
    """First and second segments, together `length` - 3 tokens, and whether the second follows.

    The first segment is whole sentences, cut at their beginning where they are too long; the second starts with a
    sentence and ends where the row is full. What follows the first is used again if it was not taken.
    """
    room, sentences = length - 3, text.sentences
    at, end = int(text.documents[document]), int(text.documents[document + 1])
    while at < end:
        wanted = int(rng.integers(room // 4, 3 * room // 4 + 1))
        behind = at + 1 + int(np.searchsorted(sentences[at + 1 : end], sentences[at] + wanted))
        behind = min(behind, end)
        kept = min(int(sentences[behind] - sentences[at]), 3 * room // 4)
        one = text.ids[sentences[behind] - kept : sentences[behind]]
        start, label = int(sentences[behind]), 1 if text.linked[document] else UNRELATED
        if (label == 1 and rng.random() < 0.5) or start + room - kept > sentences[end]:
            start, label = _elsewhere(text, document, room - kept, rng), 0 if label == 1 else UNRELATED
            at = behind
        else:
            at = int(np.searchsorted(sentences, start + room - kept))
        yield one, text.ids[start : start + room - kept], label


def _elsewhere(text: TokenisedText, document: int, tokens: int, rng: np.random.Generator) -> int:
    """Where a sentence of another document starts, if there is one, that is followed by so many tokens."""
    alone = len(text.linked) == 1
    while True:
        sentence = int(rng.integers(len(text.sentences) - 1))
        start = int(text.sentences[sentence])
        inside = text.documents[document] <= sentence < text.documents[document + 1]
        if (alone or not inside) and start + tokens <= len(text.ids):
            return start
