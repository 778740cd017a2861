"""Draw rows of token ids for a BERT: two segments of text, cut to one length so that no row is padded.

In half of the rows the second segment follows the first. In the other half it comes from another document (Devlin et
al. 2019, section 3.1, task 2).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from itertools import islice
from pathlib import Path

import numpy as np
import numpy.typing as npt

CLS, SEP = 2, 3
UNRELATED = -100  # next-sentence label of text whose lines are unrelated: ignored by the loss
SHORT = {32: 1.0}  # tokens of a row: fraction of the batches
LONG = {128: 0.2, 64: 0.4, 32: 0.4}
DRAWN_AT_ONCE = 256  # documents

Ids = npt.NDArray[np.uint16]
Starts = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TokenisedText:
    """Documents as token ids.

    ids: (N,) tokens of all sentences. sentences: (S + 1,) start of each sentence in `ids`. documents: (D + 1,) start of
    each document in `sentences`. linked: (D,) whether the sentences of a document follow each other. weights: (D,) how
    often each document is drawn, in proportion.
    """

    ids: Ids
    sentences: Starts
    documents: Starts
    linked: npt.NDArray[np.bool_]
    weights: npt.NDArray[np.float64]

    def save(self, path: Path) -> None:
        """Write one .npz file."""
        with path.open("wb") as file:
            np.savez(file, **{field.name: getattr(self, field.name) for field in fields(self)})

    @classmethod
    def load(cls, path: Path) -> TokenisedText:
        """Read a file that `save` wrote."""
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def draw(self, rng: np.random.Generator) -> Iterator[int]:
        """Yield numbers of documents without end, with replacement, each as often as its weight says."""
        upper = np.cumsum(self.weights)
        while True:
            yield from np.searchsorted(upper, rng.random(DRAWN_AT_ONCE) * upper[-1], side="right").tolist()


@dataclass(frozen=True, slots=True)
class Rows:
    """R rows of equal length T.

    ids: (R, T). first: (R,) tokens of [CLS], first segment and [SEP]. follows: (R,) 1, 0, or -100 where unknown.
    """

    ids: Ids
    first: Starts
    follows: Starts

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, which: slice | Starts) -> Rows:
        return Rows(self.ids[which], self.first[which], self.follows[which])


def draw_rows(text: TokenisedText, length: int, count: int, rng: np.random.Generator) -> Rows:
    """Return `count` rows of `length` tokens from documents drawn by weight.

    The text must have at least `length` tokens.
    """
    segments = (row for document in text.draw(rng) for row in _of_document(text, document, length, rng))
    ids = np.full((count, length), SEP, dtype=np.uint16)  # the last token of a row is [SEP]
    first = np.empty(count, dtype=np.int64)
    follows = np.empty(count, dtype=np.int64)
    for number, (left, right, label) in enumerate(islice(segments, count)):
        ids[number, 0] = CLS
        ids[number, 1 : 1 + len(left)] = left
        ids[number, 2 + len(left) : -1] = right
        first[number], follows[number] = len(left) + 2, label
    return Rows(ids, first, follows)


def _of_document(
    text: TokenisedText, document: int, length: int, rng: np.random.Generator
) -> Iterator[tuple[Ids, Ids, int]]:
    """Yield first segment, second segment, and whether the second follows, for each row of a document.

    Both segments together have `length` - 3 tokens. The first is whole sentences; if they are too long, their beginning
    is cut. The second starts with a sentence and ends where the row is full. Text after the first segment that was not
    used is used for the next row.
    """
    room, sentences = length - 3, text.sentences
    start, end = int(text.documents[document]), int(text.documents[document + 1])
    while start < end:
        wanted = int(rng.integers(room // 4, 3 * room // 4 + 1))
        behind = start + 1 + int(np.searchsorted(sentences[start + 1 : end], sentences[start] + wanted))
        behind = min(behind, end)
        kept = min(int(sentences[behind] - sentences[start]), 3 * room // 4)
        left = text.ids[sentences[behind] - kept : sentences[behind]]
        right, label = int(sentences[behind]), 1 if text.linked[document] else UNRELATED
        if (label == 1 and rng.random() < 0.5) or right + room - kept > sentences[end]:
            right, label = _elsewhere(text, document, room - kept, rng), 0 if label == 1 else UNRELATED
            start = behind
        else:
            start = int(np.searchsorted(sentences, right + room - kept))
        yield left, text.ids[right : right + room - kept], label


def _elsewhere(text: TokenisedText, document: int, tokens: int, rng: np.random.Generator) -> int:
    """Return the start of a random sentence of another document that has enough tokens after it.

    If the text has only one document, the sentence may come from it.
    """
    alone = len(text.linked) == 1
    while True:
        sentence = int(rng.integers(len(text.sentences) - 1))
        start = int(text.sentences[sentence])
        inside = text.documents[document] <= sentence < text.documents[document + 1]
        if (alone or not inside) and start + tokens <= len(text.ids):
            return start
