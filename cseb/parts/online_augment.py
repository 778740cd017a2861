"""View makers that draw the second view anew at every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from cseb.data.tokens import Tokens
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import ATTENTIONS, CONTEXT, Shape
from cseb.errors import BadSpec
from cseb.methods.option_types import Count, Rate, Size
from cseb.parts.views import Twice

Ids = npt.NDArray[np.int32]


def edit_tokens(tokens: Tokens, change: Callable[[Ids], Ids], longest: int) -> Tokens:
    """Apply `change` to the own tokens of each sentence, at most to `longest`; special tokens and prompt stay."""
    rows: list[Ids] = []
    for row in range(len(tokens)):
        sentence, own = tokens.flat[tokens.starts[row] : tokens.starts[row + 1]], tokens.own(row)
        room = max(longest - tokens.prefix - tokens.suffix, len(own))
        end = tokens.prefix + len(own)
        rows.append(np.concatenate([sentence[: tokens.prefix], change(own)[:room], sentence[end:]]))
    starts = np.cumsum([0, *map(len, rows)], dtype=np.int64)
    return replace(tokens, flat=np.concatenate(rows), starts=starts)


def draw_places(length: int, rate: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Draw a fraction of `length` positions without replacement: a mask (length,), True where drawn."""
    places: npt.NDArray[np.bool_] = np.zeros(length, dtype=np.bool_)
    places[rng.permutation(length)[: round(rate * length)]] = True
    return places


class Shuffle(Twice):
    """The sentence, and its tokens in random order.

    Source: MSSE, figure 8 (the view "shuffle").
    """

    needs: ClassVar[frozenset[str]] = frozenset({CONTEXT})  # else both views have the same mean

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts, shuffled within each sentence."""
        return edit_tokens(encoder.tokenise(texts, longest), rng.permutation, longest)


class Delete(Twice):
    """The sentence, and the sentence without a fraction of its tokens; at least one token stays.

    Source: MSSE, figure 8 (the view "delete"); rate from the authors' code of PCL (Wu et al. 2022).
    """

    preset: ClassVar = {"rate": 0.2}  # PCL release; MSSE, figure 8, gives no rate

    def __init__(self, rate: Rate) -> None:
        self.rate = rate

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts, some deleted."""

        def shortened(own: Ids) -> Ids:
            left = own[~draw_places(len(own), self.rate, rng)]
            return left if len(left) else own[:1]

        return edit_tokens(encoder.tokenise(texts, longest), shortened, longest)


class Repeat(Twice):
    """The sentence, and the sentence with a fraction of its tokens repeated, cut to the same length limit.

    Source: MSSE, figure 8 (the view "repeat"); rate from the authors' code of PCL (Wu et al. 2022).
    """

    preset: ClassVar = {"rate": 0.2}

    def __init__(self, rate: Rate) -> None:
        self.rate = rate

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts, some repeated in place."""

        def lengthened(own: Ids) -> Ids:
            return np.repeat(own, 1 + draw_places(len(own), self.rate, rng))

        return edit_tokens(encoder.tokenise(texts, longest), lengthened, longest)


class CharSpanMask(Twice):
    """The sentence, and the sentence with `span` random characters replaced by a mask token.

    Texts below `least` characters stay whole. The text is cut where the drawn characters first occur, so that words
    break. in_place: the tokens those characters lie in are hidden one by one, so that both views keep their length;
    "auto" means so where a term compares attention maps. Source: Liu et al. 2021 (Mirror-BERT); authors'
    code for `least` and the cut. Raises: BadSpec on an encoder without a mask token.
    """

    preset: ClassVar = {"span": 5, "least": 30, "in_place": "auto"}  # Mirror-BERT release
    requires: ClassVar[str] = "mask token"

    def __init__(
        self, span: Count, least: Size, in_place: bool | Literal["auto"], shape: Shape, needs: frozenset[str]
    ) -> None:
        self.span, self.least = span, least
        self.in_place = ATTENTIONS in needs if in_place == "auto" else in_place
        if not shape.mask_token:
            raise BadSpec("char_span_mask: this encoder's tokenizer has no mask token; take dropout or another view")

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of B texts with a span of each hidden."""
        starts = [self.start(text, rng) for text in texts]
        if not self.in_place:
            mask = f" {encoder.tokenizer.mask_token} "
            cut = [
                text if start is None else text[:start] + mask + text[start + self.span :]
                for text, start in zip(texts, starts, strict=True)
            ]
            return encoder.tokenise(cut, longest)
        tokens = encoder.tokenise(texts, longest)
        for row, (start, places) in enumerate(zip(starts, encoder.offsets(texts), strict=True)):
            own = tokens.own(row)
            for i, (first, end) in enumerate(places[: len(own)]):
                if start is not None and first < start + self.span and end > start:
                    own[i] = encoder.tokenizer.mask_token_id
        return tokens

    def start(self, text: str, rng: np.random.Generator) -> int | None:
        """Return where the drawn characters first occur, or None for a text that is too short."""
        if len(text) < self.least or len(text) <= self.span:
            return None
        drawn = int(rng.integers(len(text) - self.span))
        return text.index(text[drawn : drawn + self.span])
