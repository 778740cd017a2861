"""Random crops of a sentence as positives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from cseb.data.tokens import Tokens
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Pieces
from cseb.encoder.tokenizer import own_ids
from cseb.errors import BadSpec, between
from cseb.methods.option_types import Count, Rate
from cseb.parts.base import EncoderPart
from cseb.text import quantity
from cseb.words import split_words


def span(units: int, ratio: float, place: float, shortest: int) -> tuple[int, int]:
    """Return the first unit of a crop and the end of the crop, out of `units`.

    ratio: fraction of the units it contains, rounded half to even, but `shortest` at least. place: in [0, 1), which of
    the possible starts. Source: Izacard et al. 2022 (Contriever), its authors' code; `shortest` is ours, for there a
    text of three tokens can have an empty crop.
    """
    length = min(units, max(shortest, round(units * ratio)))
    start = math.floor(place * (units - length + 1))
    return start, start + length


class Crop(EncoderPart):
    """The sentence, or a crop of it, and another crop: a random run of its words, drawn anew at every step.

    first: what the first view is, "whole" or "crop". least, most: fraction of the units that a crop contains, drawn
    evenly between the two. shortest: units that a crop contains at least; a sentence with no more than that stays
    whole. unit: "word", or "token" where the tokenizer does not know words. A sentence is cropped before it is cut to
    the training length, so that its end can be drawn too. Source: Izacard et al. 2022 (Contriever), random cropping; a
    crop of one sentence is ours. Raises: BadSpec on an encoder whose tokenizer does not say where words start.
    """

    views = 2
    first: Literal["whole", "crop"] = "whole"
    least: Rate = 0.3
    most: float = 0.7
    shortest: Count = 3
    unit: Literal["word", "token"] = "word"

    def __post_init__(self) -> None:
        self.pieces = self.shape.pieces if self.unit == "word" else None
        self.fractions = (self.least, between(self.least, 1, self.most, "crop: most"))
        self.notes: tuple[str, ...] = ()
        if self.unit == "word" and self.shape.pieces is None:
            raise BadSpec("crop: this encoder's tokenizer does not say where words start; take +crop(unit=token)")

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N sentences twice; once where both views are drawn in its place."""
        if self.pieces is not None:
            whole = sum(len(split_words(sentence)) <= self.shortest for sentence in sentences)
            self.notes = (f"crop: {whole} of {quantity(len(sentences), 'sentence')} are too short for a crop",)
        return (sentences, sentences) if self.first == "whole" else (sentences,)

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of a crop of B texts; of two crops of each, 2 B rows, where the first view is a crop."""
        pieces = list(self._pieces(encoder, texts))
        drawn = pieces * (1 if self.first == "whole" else 2)
        return encoder.tokenise([self.cropped(piece, rng) for piece in drawn], longest)

    def cropped(self, piece: Pieces, rng: np.random.Generator) -> list[int]:
        """Return the token ids of a random run of whole units."""
        first, end = span(len(piece.starts), rng.uniform(*self.fractions), rng.random(), self.shortest)
        edges = [*piece.starts, len(piece.ids)]
        return piece.ids[edges[first] : edges[end]]

    def _pieces(self, encoder: Encoder, texts: Sequence[str]) -> Iterable[Pieces]:
        if self.pieces is not None:
            return self.pieces(texts)
        return (Pieces(ids, list(range(len(ids)))) for ids in own_ids(encoder.tokenizer, texts))
