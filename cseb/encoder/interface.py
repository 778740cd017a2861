"""What parts may know of an encoder and its outputs, and the interfaces of pooler, head and postprocessing.

Sizes: B sentences, T tokens, D width, L layers, H heads, V words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from torch import Tensor

Rows = npt.NDArray[np.int64]


# Costly outputs of the backbone; the union over the parts of a spec decides what is computed.
LAYERS, ATTENTIONS, POOLED, LANGUAGE = "layers", "attentions", "pooled", "language"
PADDING = "padding"  # states and maps of padding too, which is else left out of all arithmetic and reads 0

# Properties that cost nothing: states depend on tokens before, or on both sides; its embedding layer can be reached.
CONTEXT, BOTH_SIDES, EMBEDDINGS = "context", "both_sides", "embeddings"
GIVEN = frozenset({LAYERS, ATTENTIONS, POOLED, LANGUAGE, PADDING, CONTEXT, BOTH_SIDES, EMBEDDINGS})

FROZEN = "frozen"  # vectors of the batch by the frozen teachers of the first training stage


Text = str | Sequence[int]  # a text, or its own token ids where a view maker has cut them


@dataclass(frozen=True, slots=True)
class Pieces:
    """A sentence's own token ids, special ones left out, and the places among them where words start."""

    ids: list[int]
    starts: list[int]


@dataclass(frozen=True, slots=True)
class Family:
    """What a family of encoders has.

    gives: which of `GIVEN`. pooler: of an encoder as it stands. what: it is, in messages. layers: whether it has any.
    module: of sentence-transformers that reads its folder; `pools` if that pools as well, then by the mean.
    """

    gives: frozenset[str] = GIVEN
    pooler: str = "cls"
    what: str = "an encoder"
    layers: bool = True
    module: str = "Transformer"
    pools: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """Properties of the encoder that a part may ask for before its weights are loaded."""

    width: int
    layers: int
    heads: int
    mask_token: bool
    pooled: bool  # carries the pre-trained pooler of BERT and its family
    dropout: float  # the largest rate anywhere in the backbone
    open_attention: bool = False  # its self-attention modules can be reached
    pieces: Callable[[Sequence[str]], Iterator[Pieces]] | None = None  # None if the tokenizer knows of no words
    mask_id: int = 0  # the mask token, where there is one
    vocabulary: int = 0  # V
    language: bool = False  # carries its pre-trained masked-LM head
    first_position: int | None = None  # id of a sentence's first position, None where positions cannot be chosen
    folder: Path | None = None  # where its files lie
    family: Family = Family()


@dataclass(frozen=True, slots=True)
class States:
    """Token states of a batch, as a pooler sees them.

    layers: tensors (B, T, D); all L + 1 with the embeddings first if a part needs them, else the last one alone.
    mask: (B, T), 1 = real token. anchor: (B,) position of the prompt's mask token, 0 without a prompt. pooled: (B, D)
    of the pre-trained pooler, if a part needs it. ids: (B, T), the encoder always gives them.
    """

    layers: Sequence[Tensor]
    mask: Tensor
    anchor: Tensor
    pooled: Tensor | None = None
    ids: Tensor | None = None


@dataclass(frozen=True, slots=True)
class EncodedView:
    """One view of the B sentences of a batch, encoded.

    h: (B, D) before the head, z: (B, P) after it; most heads keep the width. ids, mask, content: (B, T); content is 1
    on the sentence's own tokens, 0 on special tokens, prompt and padding. layers and attentions (L tensors
    (B, H, T, T), last axis = keys) are empty unless a part needs them, attentions also where no term reads this view's.
    """

    h: Tensor
    z: Tensor
    ids: Tensor
    mask: Tensor
    content: Tensor
    layers: Sequence[Tensor] = ()
    attentions: Sequence[Tensor] = ()


class Pooler(Protocol):
    """Token states to sentence vectors."""

    needs: ClassVar[frozenset[str]]
    template: str  # the prompt around [X], or "" for none

    def __call__(self, states: States) -> Tensor:
        """Return (B, D)."""


@runtime_checkable
class CountsTokens(Protocol):
    """A pooler that has to know how often the subset has each token, before training and test."""

    def count(self, counts: Rows) -> None:
        """Called once with how often the tokens stand in the texts of the subset: (V,), in the order of their ids."""


class Head(Protocol):
    """The map after the pooler."""

    keep: bool  # also at test

    def __call__(self, h: Tensor) -> Tensor:
        """Map (B, D) to (B, P)."""


class Post(Protocol):
    """A module fitted on the subset's vectors at every evaluation of the encoder, and applied to vectors at test.

    It may have `of_encoder_width = True`: it maps vectors of the encoder's width only.
    """

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if it does not go with a subset of so many sentences."""

    def fit(self, vectors: Tensor) -> None:
        """Learn from the vectors (N, D) of the subset, as they are at test."""

    def __call__(self, vectors: Tensor) -> Tensor:
        """Map (N, D) to (N, P)."""
