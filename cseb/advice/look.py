"""Look at a corpus before anything is trained: repeats, lengths, and whether the tokenizer knows its language."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cseb.data.corpus import Corpus
from cseb.data.overlap import WORD, words
from cseb.data.subset import order
from cseb.errors import BadData
from cseb.progress import counted
from cseb.text import percent, quantity

FEWEST = 100  # distinct sentences: a fifth of them is held out, and 80 still fill batches
SAMPLED = 5000  # sentences that are tokenised: what a share of words is known by, to a percent
FOREIGN = 0.5  # share of words spelt letter by letter above which an encoder cannot read a corpus
STRANGE = 0.1  # and above which that is said; English under an English vocabulary has 0.01 to 0.03
SPELT = 0.75  # pieces for each letter from which on a word counts as spelt


@dataclass(frozen=True, slots=True)
class Look:
    """What a corpus is like.

    sentences: lines that are not blank. distinct: places of the first of each group of sentences that are the same but
    for capitals, white space and punctuation. words: least, median and most, of the distinct ones. sampled: how many of
    these were tokenised; too_long: share of the sample that training cuts, at so many tokens (`limit`). spelt: share of
    its words that the tokenizer does not know or spells letter by letter.
    """

    name: str
    sentences: int
    blank: int
    distinct: tuple[int, ...]
    words: tuple[int, int, int]
    sampled: int
    limit: int
    too_long: float
    spelt: float

    def lines(self) -> list[str]:
        """For people."""
        repeats = self.sentences - len(self.distinct)
        low, middle, high = self.words
        said = [
            f"{self.name}: {quantity(self.sentences, 'sentence')}, {len(self.distinct):,} distinct"
            + (f" ({quantity(repeats, 'repeat')} left out)" if repeats else "")
            + (f", {quantity(self.blank, 'blank line')}" if self.blank else ""),
            f"words in a sentence: {low} to {high}, median {middle}; {percent(round(self.too_long, 3))} of "
            f"{self.sampled:,} are cut at {self.limit} tokens while training",
        ]
        if self.spelt > STRANGE:
            said.append(
                f"{percent(round(self.spelt, 3))} of the words are unknown to the tokenizer or spelt letter by letter: "
                "is it an encoder for this language?"
            )
        return said


def look(corpus: Corpus, tokenizer: Any, limit: int, encoder: str) -> Look:
    """Look at a corpus with the tokenizer of an encoder. limit: tokens at which training cuts a sentence.

    A million lines take some ten seconds: only a seeded sample is tokenised. Raises: BadData for too few distinct
    sentences, or a language that the tokenizer cannot read.
    """
    distinct, lengths = _distinct(corpus)
    if len(distinct) < FEWEST:
        raise BadData(
            f"{corpus.name} has {quantity(len(corpus), 'sentence')}, {len(distinct)} of them distinct; a "
            f"recommendation takes {FEWEST} or more: add sentences, or take an untrained pooling such as mean"
        )
    chosen = order(len(distinct), 0)[:SAMPLED]
    sample = [corpus[distinct[place]] for place in chosen.tolist()]
    spelt = _spelt(sample, tokenizer)
    if spelt > FOREIGN:
        raise BadData(
            f"{corpus.name} is not in a language of encoder {encoder!r}: its tokenizer does not know "
            f"{percent(round(spelt, 2))} of the words or spells them letter by letter; take an encoder for its language"
        )
    tokens = [len(ids) for ids in tokenizer(sample, verbose=False)["input_ids"]]
    counts = np.array(lengths)
    return Look(
        name=corpus.name,
        sentences=len(corpus),
        blank=corpus.blank,
        distinct=tuple(distinct),
        words=(int(counts.min()), int(np.median(counts)), int(counts.max())),
        sampled=len(sample),
        limit=limit,
        too_long=float(np.mean(np.array(tokens) > limit)),
        spelt=spelt,
    )


def folded(sentence: str) -> str:
    """A sentence without what does not tell it from another: capitals, punctuation, white space."""
    return " ".join(words(sentence)) or sentence


def _distinct(corpus: Corpus) -> tuple[list[int], list[int]]:
    """Places of the first sentence of each kind, and how many words these have."""
    seen: set[bytes] = set()
    places, lengths = [], []
    for place, sentence in enumerate(counted(corpus, "looking at the corpus", len(corpus))):
        text = folded(sentence)
        if (mark := hashlib.blake2b(text.encode(), digest_size=16).digest()) not in seen:  # less memory than the text
            seen.add(mark)
            places.append(place)
            lengths.append(text.count(" ") + 1)
    return places, lengths


def _spelt(sample: Sequence[str], tokenizer: Any) -> float:
    """Share of the words that are unknown, or in about as many pieces as they have letters."""
    known = Counter(word for sentence in sample for word in WORD.findall(sentence) if not word.isdigit())
    if not known:
        return 1.0
    texts = list(known)
    unknown = tokenizer.unk_token_id
    pieces = tokenizer(texts, add_special_tokens=False, verbose=False)["input_ids"]
    bad = sum(
        known[text]
        for text, ids in zip(texts, pieces, strict=True)
        if unknown in ids or (len(text) > 2 and len(ids) >= SPELT * len(text))
    )
    return bad / known.total()
