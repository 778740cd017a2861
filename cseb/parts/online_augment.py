"""View makers that edit word pieces: a second view, or edits, drawn anew at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import ATTENTIONS, Shape
from cseb.encoder.tokenizer import Tokens
from cseb.errors import BadSpec, between
from cseb.methods.option_types import Count, Rate, Size
from cseb.parts.base import check_dropout, check_mask_token
from cseb.parts.views import Twice
from cseb.words import clusters

Ids = npt.NDArray[np.int32]

MOST = 10  # pieces that are repeated at most, and one less. Source: authors' code of ESimCSE


def edit_tokens(encoder: Encoder, tokens: Tokens, change: Callable[[Ids], Ids], longest: int) -> Tokens:
    """Apply `change` to the own tokens of each sentence; special tokens and prompt stay.

    longest: tokens of the result, special ones included, without the prompt.
    """
    rows: list[Ids] = []
    for row in range(len(tokens)):
        sentence, own = tokens.flat[tokens.starts[row] : tokens.starts[row + 1]], tokens.own(row)
        room = max(longest + encoder.prompt_tokens() - tokens.prefix - tokens.suffix, len(own))
        end = tokens.prefix + len(own)
        rows.append(np.concatenate([sentence[: tokens.prefix], change(own)[:room], sentence[end:]]))
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return replace(tokens, flat=np.concatenate(rows), starts=starts)


def draw_places(length: int, rate: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Draw a fraction of `length` positions without replacement: a mask (length,), True where drawn."""
    places: npt.NDArray[np.bool_] = np.zeros(length, dtype=np.bool_)
    places[rng.permutation(length)[: round(rate * length)]] = True
    return places


class EditedTokens(Twice):
    """Base of a sentence and its tokens as `edited` changes them; the prompt and special tokens stay."""

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        return edit_tokens(encoder, encoder.tokenise(texts, longest), lambda own: self.edited(own, rng), longest)

    def edited(self, own: Ids, rng: np.random.Generator) -> Ids:
        """Return the tokens (n,) in place of a sentence's own tokens (m,)."""
        raise NotImplementedError


class Shuffle(EditedTokens):
    """The sentence, and its tokens in random order.

    Source: MSSE, figure 8 (the view "shuffle").
    """

    def edited(self, own: Ids, rng: np.random.Generator) -> Ids:
        return rng.permutation(own)


class Delete(EditedTokens):
    """The sentence, and the sentence without a fraction of its tokens; at least one token stays.

    Source: MSSE, figure 8 (the view "delete"); rate from the authors' code of PCL (Wu et al. 2022).
    """

    rate: Rate = 0.2  # PCL release; MSSE, figure 8, gives no rate

    def edited(self, own: Ids, rng: np.random.Generator) -> Ids:
        left = own[~draw_places(len(own), self.rate, rng)]
        return left if len(left) else own[:1]


class Repeat(EditedTokens):
    """The sentence, and the sentence with a fraction of its tokens repeated, cut to the same length limit.

    Source: MSSE, figure 8 (the view "repeat"); rate from the authors' code of PCL (Wu et al. 2022).
    """

    rate: Rate = 0.2

    def edited(self, own: Ids, rng: np.random.Generator) -> Ids:
        return np.repeat(own, 1 + draw_places(len(own), self.rate, rng))


class CharSpanMask(Twice):
    """The sentence, and the sentence with `span` random characters replaced by a mask token.

    Texts below `least` characters stay whole. The text is cut where the drawn characters first occur, so that words
    break; in scripts with many combining marks a character has its marks. in_place: the tokens those characters lie in
    are hidden one by one, so that both views keep their length; "auto" means so where a term compares attention maps.
    Source: Liu et al. 2021 (Mirror-BERT); authors' code for `least` and the cut. Raises: BadSpec on an encoder without
    a mask token, or, in place, one whose tokenizer does not give the places of tokens.
    """

    requires: ClassVar[str] = "mask token"

    # Mirror-BERT release
    def __init__(
        self,
        span: Count = 5,
        least: Size = 30,
        in_place: bool | Literal["auto"] = "auto",
        *,
        shape: Shape,
        needs: frozenset[str],
    ) -> None:
        self.span, self.least = span, least
        self.in_place = ATTENTIONS in needs if in_place == "auto" else in_place
        check_mask_token("char_span_mask", shape)
        if self.in_place and shape.pieces is None:
            raise BadSpec(
                "char_span_mask: this encoder's tokenizer does not say where tokens lie in a text; take "
                "+char_span_mask(in_place=false)"
            )

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        places = [self.place(text, rng) for text in texts]
        if not self.in_place:
            mask = f" {encoder.tokenizer.mask_token} "
            cut = [
                text if place is None else text[: place[0]] + mask + text[place[1] :]
                for text, place in zip(texts, places, strict=True)
            ]
            return encoder.tokenise(cut, longest)
        tokens = encoder.tokenise(texts, longest)
        for row, (place, offsets) in enumerate(zip(places, encoder.offsets(texts), strict=True)):
            own = tokens.own(row)
            for i, (first, end) in enumerate(offsets[: len(own)]):
                if place is not None and first < place[1] and end > place[0]:
                    own[i] = encoder.tokenizer.mask_token_id
        return tokens

    def place(self, text: str, rng: np.random.Generator) -> tuple[int, int] | None:
        """Return first and end of the place where the drawn characters first occur, None for a text too short."""
        characters = clusters(text)
        if len(characters) < self.least or len(characters) <= self.span:
            return None
        drawn = int(rng.integers(len(characters) - self.span))
        hidden = characters[drawn : drawn + self.span]
        number = next(at for at in range(drawn + 1) if characters[at : at + self.span] == hidden)
        first = len("".join(characters[:number]))
        return first, first + len("".join(hidden))


def concatenated(tokens: Sequence[Tokens]) -> Tokens:
    """Concatenate several batches."""
    starts = np.cumsum([0, *(length for batch in tokens for length in batch.lengths())], dtype=np.int64)
    return replace(tokens[0], flat=np.concatenate([batch.flat for batch in tokens]), starts=starts)


class SubwordRepeat(EditedTokens):
    """The sentence, and the sentence with some word pieces repeated, which may exceed the cut.

    With n pieces, special ones included, a number below min(10, int(rate n)) is drawn and as many pieces repeated;
    bound: "released", or "paper" for a number up to max(2, int(rate n)). when: "step", or "once" for the same pieces
    of a sentence at every step and with every seed. Source: Wu et al. 2022 (ESimCSE), section 3.1; authors' code.
    """

    rate: Rate = 0.32  # ESimCSE release, BERT
    bound: Literal["released", "paper"] = "released"
    when: Literal["step", "once"] = "step"

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        tokens = encoder.tokenise(texts, longest)
        return edit_tokens(encoder, tokens, lambda own: self.edited(own, rng), encoder.limit())

    def edited(self, own: Ids, rng: np.random.Generator) -> Ids:
        drawn = rng if self.when == "step" else np.random.default_rng(own.tolist())
        places = drawn.permutation(len(own))[: self.count(len(own), drawn)]
        return np.repeat(own, 1 + np.isin(np.arange(len(own)), places))

    def count(self, own: int, rng: np.random.Generator) -> int:
        """Return how many of a sentence's `own` pieces are repeated."""
        most = int(self.rate * (own + 2))
        if self.bound == "paper":
            return int(rng.integers(max(2, most) + 1))
        return int(rng.integers(min(MOST, most))) if most else 0


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
EACH: tuple[TokenEdit, ...] = ("shuffle", "reverse", "delete", "repeat")
EDITS: dict[TokenEdit, Callable[[Ids, float, int, np.random.Generator], Ids]] = {
    "shuffle": lambda own, rate, room, rng: rng.permutation(own),
    "reverse": lambda own, rate, room, rng: own[::-1],
    "delete": delete,
    "repeat": repeat,
}


class EditedTwice(Twice):
    """The sentence twice, and edits of it, which `redraw` makes."""

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return sentences, sentences, sentences


class TokenEdits(EditedTwice):
    """The sentence twice, and edits of it: its pieces shuffled, reversed, some deleted, some repeated.

    edits: any number of those four. rate: fraction of pieces deleted or repeated. Source: Wu et al. 2022 (PCL);
    authors' code. Raises: BadSpec on an encoder without dropout: the first two would be equal.
    """

    # PCL release
    def __init__(self, edits: tuple[TokenEdit, ...] = EACH * 2, rate: Rate = 0.2, *, shape: Shape) -> None:
        if not edits:
            raise BadSpec(f"token_edits: edits is (); write some of {', '.join(EDITS)}, such as (shuffle,delete)")
        self.kinds, self.edits, self.rate = edits, len(edits), rate
        check_dropout("token_edits", shape)

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts in every edit, one edit after the other."""
        tokens = encoder.tokenise(texts, longest)
        special = len(encoder.tokenise([""], longest).flat) - encoder.prompt_tokens()

        def changed(kind: TokenEdit) -> Tokens:
            room = longest - special
            return edit_tokens(encoder, tokens, lambda own: EDITS[kind](own, self.rate, room, rng), longest)

        return concatenated([changed(kind) for kind in self.kinds])


class SpanMasks(EditedTwice):
    """The sentence twice, and two edits: a span of its tokens masked, and a longer span around it masked.

    first, second: shares of the sentence's own tokens. Source: Zhang et al. 2022 (ArcCSE), triplets. Raises: BadSpec on
    an encoder without a mask token or dropout.
    """

    requires: ClassVar[str] = "mask token"
    edits = 2

    # ArcCSE
    def __init__(self, first: Rate = 0.2, second: Rate = 0.4, *, shape: Shape) -> None:
        self.first = first
        self.second = between(first, 1, second, "span_masks: second")
        check_mask_token("span_masks", shape)
        check_dropout("span_masks", shape)
        self.mask_id = shape.mask_id

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
