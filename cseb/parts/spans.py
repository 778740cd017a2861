"""Parts of a text as positives: random crops of a sentence, neighbouring spans of a document."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, Literal

import numpy as np

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Pieces
from cseb.encoder.tokenizer import Tokens, own_ids
from cseb.errors import BadData, BadSpec, between
from cseb.methods.option_types import Count, Rate
from cseb.parts.base import BasePart, EncoderPart
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


Place = Literal["any", "adjacent", "subsuming"]  # of positives: they may overlap the anchor, touch it, or be inside it
Span = tuple[int, int]  # first token and end


class Spans(BasePart):
    """`anchors` spans of each document and `positives` spans close to each of them: anchors first, then positives.

    Drawn anew at every step, in word pieces: an anchor's length is Beta(4, 2) between `shortest` and `longest`, a
    positive's Beta(2, 4), and anchors neither overlap nor touch. place: of positives, "any" (overlapping or touching
    the anchor), "adjacent" or "subsuming" (inside it). `longest` is less where the encoder cannot place as many tokens,
    or where a document has less than 2 x anchors times as many: there the authors' code refuses it. Source: Giorgi et
    al. 2021 (DeCLUTR), section 3.1; authors' code. Raises: BadData for lines with less than 2 x anchors x shortest
    words.
    """

    requires: ClassVar[str] = "documents"
    line_check: ClassVar[str] = "cseb.data.lines:check_documents"

    # DeCLUTR release
    def __init__(
        self, anchors: Count = 2, positives: Count = 2, shortest: Count = 32, longest: Count = 512, place: Place = "any"
    ) -> None:
        if shortest > longest:
            raise BadSpec(f"spans: shortest is {shortest} and longest {longest}; take a shortest of at most {longest}")
        self.spans = (anchors, positives)
        self.views = anchors * (1 + positives)
        self.shortest, self.longest, self.place = shortest, longest, place

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N documents once: all views are drawn in its place."""
        return (sentences,)

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of every view of B documents, view after view: V B rows."""
        room = longest - (int(encoder.tokenise([[]], longest).lengths()[0]) - encoder.prompt_tokens())
        documents = own_ids(encoder.tokenizer, texts)
        if (least := min(map(len, documents))) < 2 * self.spans[0]:
            raise BadData(f"spans: this encoder makes {quantity(least, 'token')} of a document; leave it out")
        spans = [[ids[first:end] for first, end in self.draw(len(ids), room, rng)] for ids in documents]
        return encoder.tokenise([span for view in zip(*spans, strict=True) for span in view], longest)

    def draw(self, tokens: int, room: int, rng: np.random.Generator) -> Iterator[Span]:
        """Yield anchors, then the positives of each. tokens: of the document. room: the encoder's limit of tokens."""
        anchors, positives = self.spans
        longest = max(1, min(self.longest, room, tokens // (2 * anchors)))
        shortest = min(self.shortest, longest)
        spans = list(self._anchors(tokens, shortest, longest, rng))
        yield from spans
        for anchor in spans:
            for _ in range(positives):
                yield self._positive(anchor, tokens, shortest, longest, rng)

    def _anchors(self, tokens: int, shortest: int, longest: int, rng: np.random.Generator) -> Iterator[Span]:
        """Draw each anchor in a free block of `longest` tokens and remove its neighbours, as the authors' code does."""
        anchors, _ = self.spans
        free = list(range(0, tokens - longest + 1, longest))
        for number in range(anchors):
            length = _length(rng, 4, 2, shortest, longest)
            left = anchors - number
            edge = len(free) // left < left  # a stretch in the middle would leave too few for the others
            at = int(rng.choice([0, len(free) - 1])) if edge else int(rng.integers(len(free)))
            start = free[at] + int(rng.integers(longest - length + 1))
            del free[max(0, at - 1) : at + 2]
            yield start, start + length

    def _positive(self, anchor: Span, tokens: int, shortest: int, longest: int, rng: np.random.Generator) -> Span:
        first, end = anchor
        if self.place == "subsuming":
            length = _length(rng, 2, 4, min(shortest, end - first), end - first)
            start = int(rng.integers(first, end - length + 1))
        elif self.place == "adjacent":
            most = min(longest, max(first, tokens - end))
            length = _length(rng, 2, 4, min(shortest, most), most)
            beside = [start for start in (first - length, end) if start >= 0 and start + length <= tokens]
            start = int(rng.choice(beside))
        else:
            length = _length(rng, 2, 4, shortest, longest)
            start = int(rng.integers(max(0, first - length), min(end, tokens - length) + 1))
        return start, start + length


def _length(rng: np.random.Generator, a: float, b: float, shortest: int, longest: int) -> int:
    return int(rng.beta(a, b) * (longest - shortest) + shortest)
