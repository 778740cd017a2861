"""The encoder as parts see it: its outputs and properties, and the interfaces of pooler, head and post-processor.

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


# Costly outputs of the backbone; those that no part needs are not computed.
LAYERS, ATTENTIONS, POOLED, LANGUAGE = "layers", "attentions", "pooled", "language"
PADDING = "padding"  # states and maps of padding, which are otherwise not computed and read as 0

# Properties without cost: states depend on both sides; the embedding layer is accessible.
BOTH_SIDES, EMBEDDINGS = "both_sides", "embeddings"
GIVEN = frozenset({POOLED, LANGUAGE, BOTH_SIDES, EMBEDDINGS})  # other needs are met by every family

FROZEN = "frozen"  # vectors of the batch by the frozen teachers of the first training stage


Text = str | Sequence[int]  # a text, or its token ids if a view maker has cut them


@dataclass(frozen=True, slots=True)
class Pieces:
    """A sentence's token ids without special tokens, and the places where words start."""

    ids: list[int]
    starts: list[int]


@dataclass(frozen=True, slots=True)
class Family:
    """Properties of a family of encoders.

    gives: which of `GIVEN`. pooler: the default. what: a description for messages.
    """

    gives: frozenset[str] = GIVEN
    pooler: str = "cls"
    what: str = "an encoder"


@dataclass(frozen=True, slots=True)
class Shape:
    """Properties of an encoder, known before its weights are loaded."""

    width: int
    layers: int
    heads: int
    mask_token: bool
    pooled: bool  # carries the pre-trained pooler of BERT and its family
    dropout: float  # the largest rate anywhere in the backbone
    open_attention: bool = False  # its self-attention modules are accessible
    pieces: Callable[[Sequence[str]], Iterator[Pieces]] | None = None  # None if the tokenizer does not mark words
    mask_id: int = 0  # of the mask token, if there is one
    vocabulary: int = 0  # V
    language: bool = False  # carries its pre-trained masked-LM head
    first_position: int | None = None  # id of the first position, None if positions cannot be set
    embedding_width: int | None = None  # of the embedding layer, if the configuration names it
    folder: Path | None = None  # of its files
    family: Family = Family()

    def __deepcopy__(self, memo: dict[int, object]) -> Shape:
        """Return itself, which never changes, so that a copied part shares the tokenizer."""
        return self


@dataclass(frozen=True, slots=True)
class States:
    """Token states of a batch: the input of a pooler.

    layers: tensors (B, T, D); all L + 1, embeddings first, if a part needs them, otherwise the last one.
    mask: (B, T), 1 = real token. anchor: (B,) position of the prompt's mask token, 0 without a prompt. pooled: (B, D)
    of the pre-trained pooler, if a part needs it. ids: (B, T), always given by the encoder.
    """

    layers: Sequence[Tensor]
    mask: Tensor
    anchor: Tensor
    pooled: Tensor | None = None
    ids: Tensor | None = None


@dataclass(frozen=True, slots=True)
class EncodedView:
    """One view of the B sentences of a batch, encoded.

    h: (B, D) before the head, z: (B, P) after it. ids, mask, content: (B, T); content is 1 on the sentence's tokens and
    0 on special tokens, prompt and padding. layers, and attentions (L tensors (B, H, T, T), last axis = keys), are
    empty unless a part needs them.
    """

    h: Tensor
    z: Tensor
    ids: Tensor
    mask: Tensor
    content: Tensor
    layers: Sequence[Tensor] = ()
    attentions: Sequence[Tensor] = ()


class Pooler(Protocol):
    """Map token states to sentence vectors."""

    needs: ClassVar[frozenset[str]]
    template: str  # the prompt around [X], or "" for none

    def __call__(self, states: States) -> Tensor:
        """Return (B, D)."""


@runtime_checkable
class CountsTokens(Protocol):
    """A pooler that needs the frequencies of tokens in the training sentences."""

    def count(self, counts: Rows) -> None:
        """Receive, once, the frequency of each token in the training sentences: (V,)."""


class Head(Protocol):
    """The map after the pooler."""

    keep: bool  # also at test

    def __call__(self, h: Tensor) -> Tensor:
        """Map (B, D) to (B, P)."""


class Post(Protocol):
    """A post-processor, fitted on the training sentences' vectors at every evaluation step and applied at test.

    `of_encoder_width = True` means that it maps vectors of the encoder's width only.
    """

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if it cannot be fitted on this number of sentences."""

    def fit(self, vectors: Tensor) -> None:
        """Fit to the vectors (N, D) of the training sentences."""

    def __call__(self, vectors: Tensor) -> Tensor:
        """Map (N, D) to (N, P)."""
