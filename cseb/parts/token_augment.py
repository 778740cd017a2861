"""View makers on word pieces: repetition, several edits, or masked spans of two sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np

from cseb.data.tokens import Tokens
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import Shape
from cseb.errors import BadSpec, between
from cseb.methods.option_types import Rate
from cseb.parts.online_augment import Ids, edit_tokens
from cseb.parts.views import Twice

MOST = 10  # pieces that are repeated at most, and one less. Source: authors' code of ESimCSE


def concatenated(tokens: Sequence[Tokens]) -> Tokens:
    """Concatenate several batches."""
    starts = np.cumsum([0, *(length for batch in tokens for length in batch.lengths())], dtype=np.int64)
    return replace(tokens[0], flat=np.concatenate([batch.flat for batch in tokens]), starts=starts)


class SubwordRepeat(Twice):
    """The sentence, and the sentence with some word pieces repeated, which may exceed the cut.

    With n pieces, special ones included, a number below min(10, int(rate n)) is drawn and as many pieces repeated;
    bound: "released", or "paper" for a number up to max(2, int(rate n)). when: "step", or "once" for the same pieces
    of a sentence at every step and with every seed. Source: Wu et al. 2022 (ESimCSE), section 3.1; authors' code.
    """

    preset: ClassVar = {"rate": 0.32, "bound": "released", "when": "step"}  # ESimCSE release, BERT

    def __init__(self, rate: Rate, bound: Literal["released", "paper"], when: Literal["step", "once"]) -> None:
        self.rate, self.bound, self.when = rate, bound, when

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts, some repeated in place."""

        def repeated(own: Ids) -> Ids:
            drawn = rng if self.when == "step" else np.random.default_rng(own.tolist())
            places = drawn.permutation(len(own))[: self.count(len(own), drawn)]
            return np.repeat(own, 1 + np.isin(np.arange(len(own)), places))

        return edit_tokens(encoder.tokenise(texts, longest), repeated, encoder.limit())

    def count(self, own: int, rng: np.random.Generator) -> int:
        """Return how many of a sentence's `own` pieces are repeated."""
        most = int(self.rate * (own + 2))
        if self.bound == "paper":
            return int(rng.integers(max(2, most) + 1))
        return int(rng.integers(min(MOST, most))) if most else 0


def shuffle(own: Ids, rate: float, room: int, rng: np.random.Generator) -> Ids:
    """Shuffle the pieces."""
    return rng.permutation(own)


def reverse(own: Ids, rate: float, room: int, rng: np.random.Generator) -> Ids:
    """Reverse the order of the pieces."""
    return own[::-1]


def delete(own: Ids, rate: float, room: int, rng: np.random.Generator) -> Ids:
    """Delete a fraction of the pieces, drawn one by one, each at its first occurrence; one piece stays."""
    remaining = own.tolist()
    for _ in range(min(round(rate * len(own)), len(own) - 1)):
        remaining.remove(remaining[int(rng.integers(len(remaining)))])
    return np.array(remaining, dtype=own.dtype)


def repeat(own: Ids, rate: float, room: int, rng: np.random.Generator) -> Ids:
    """Insert copies of a fraction of the pieces, drawn one by one, at random positions while there is room."""
    pieces = own.tolist()
    for _ in range(min(round(rate * len(own)), max(room - len(own), 0))):
        pieces.insert(int(rng.integers(len(pieces) + 1)), pieces[int(rng.integers(len(pieces)))])
    return np.array(pieces, dtype=own.dtype)


TokenEdit = Literal["shuffle", "reverse", "delete", "repeat"]
EDITS: dict[TokenEdit, Callable[[Ids, float, int, np.random.Generator], Ids]] = {
    "shuffle": shuffle, "reverse": reverse, "delete": delete, "repeat": repeat,
}  # fmt: skip


class TokenEdits:
    """The sentence twice, and edits of it: its pieces shuffled, reversed, some deleted, some repeated.

    edits: any number of those four. rate: fraction of pieces deleted or repeated. Source: Wu et al. 2022 (PCL);
    authors' code. Raises: BadSpec on an encoder without dropout: the first two would be equal.
    """

    preset: ClassVar = {  # PCL release
        "edits": ("shuffle", "reverse", "delete", "repeat", "shuffle", "reverse", "delete", "repeat"),
        "rate": 0.2,
    }

    views = 2

    def __init__(self, edits: tuple[TokenEdit, ...], rate: Rate, shape: Shape) -> None:
        if not edits:
            raise BadSpec(
                f"token_edits: edits is {edits!r}; write some of {', '.join(EDITS)}, such as (shuffle,delete)"
            )
        self.kinds, self.edits, self.rate = edits, len(edits), rate
        if shape.dropout == 0:
            raise BadSpec("token_edits: dropout rates are all 0, so both views are equal; add +recipe(dropout=0.1)")

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N sentences three times; `redraw` makes the edits."""
        return sentences, sentences, sentences

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts in every edit, one edit after the other."""
        tokens = encoder.tokenise(texts, longest)
        special = len(encoder.tokenise([""], longest).flat) - encoder.prompt_tokens()

        def changed(kind: TokenEdit) -> Tokens:
            return edit_tokens(tokens, lambda own: EDITS[kind](own, self.rate, longest - special, rng), longest)

        return concatenated([changed(kind) for kind in self.kinds])


class SpanMasks:
    """The sentence twice, and two edits: a span of its tokens masked, and a longer span around it masked.

    first, second: shares of the sentence's own tokens. Source: Zhang et al. 2022 (ArcCSE), triplets. Raises: BadSpec on
    an encoder without a mask token or dropout.
    """

    preset: ClassVar = {"first": 0.2, "second": 0.4}  # ArcCSE
    requires: ClassVar[str] = "mask token"
    views = 2
    edits = 2

    def __init__(self, first: Rate, second: Rate, shape: Shape) -> None:
        self.first = first
        self.second = between(first, 1, second, "span_masks: second")
        if not shape.mask_token:
            raise BadSpec("span_masks: this encoder's tokenizer has no mask token; take another encoder")
        if shape.dropout == 0:
            raise BadSpec("span_masks: dropout rates are all 0, so both views are equal; add +recipe(dropout=0.1)")
        self.mask_id = shape.mask_id

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        """Return the list of N sentences three times; `redraw` makes the edits."""
        return sentences, sentences, sentences

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts with a span masked, then with the longer one."""
        clean = encoder.tokenise(texts, longest)
        hidden = [replace(clean, flat=clean.flat.copy()) for _ in range(2)]
        for row in range(len(clean)):
            for tokens, (start, end) in zip(hidden, self.spans(len(clean.own(row)), rng), strict=True):
                tokens.own(row)[start:end] = self.mask_id
        return concatenated(hidden)

    def spans(self, own: int, rng: np.random.Generator) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return start and end of both spans among `own` tokens; the second contains the first."""
        inner, outer = round(self.first * own), round(self.second * own)
        start = int(rng.integers(own - outer + 1))
        within = start + int(rng.integers(outer - inner + 1))
        return (within, within + inner), (start, start + outer)
