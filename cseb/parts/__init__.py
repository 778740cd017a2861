"""The contract between parts and the trainer: what a part is given, and what it must answer.

Sizes in every docstring: B sentences, T tokens, D width, L layers, H heads, V words, K queued keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from torch import Generator, Tensor
from torch.nn import Module

from cseb.data.tokens import Tokens

if TYPE_CHECKING:
    from cseb.encoder import Encoder
    from cseb.processes import Share
    from cseb.spec import Method

Rows = npt.NDArray[np.int64]

# Costly outputs of the backbone; the union over the parts of a spec decides what is computed.
LAYERS, ATTENTIONS, POOLED, LANGUAGE = "layers", "attentions", "pooled", "language"
FROZEN = "frozen"  # vectors of the batch by the models of the first stage

Text = str | Sequence[int]  # a text, or its own token ids where a view maker has cut them


@dataclass(frozen=True, slots=True)
class Pieces:
    """A sentence's own token ids, special ones left out, and the places among them where words start."""

    ids: list[int]
    starts: list[int]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a part may want to know of the encoder before its weights are there."""

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


@dataclass(frozen=True, slots=True)
class States:
    """Token states of a batch, as a pooler sees them.

    layers: tensors (B, T, D); all L + 1 with the embeddings first if a part needs them, else the last one alone.
    mask: (B, T), 1 = real token. anchor: (B,) position of the prompt's mask token, 0 without a prompt. pooled: (B, D)
    of the pre-trained pooler, if a part needs it.
    """

    layers: Sequence[Tensor]
    mask: Tensor
    anchor: Tensor
    pooled: Tensor | None = None


@dataclass(frozen=True, slots=True)
class EncodedView:
    """One rendering of the B sentences of a batch, encoded.

    h: (B, D) before the head, z: (B, P) after it; most heads keep the width. ids, mask, content: (B, T); content is 1
    on the sentence's own tokens, 0 on special tokens, prompt and padding. layers and attentions (L tensors
    (B, H, T, T), last axis = keys) are empty unless a part needs them.
    """

    h: Tensor
    z: Tensor
    ids: Tensor
    mask: Tensor
    content: Tensor
    layers: Sequence[Tensor] = ()
    attentions: Sequence[Tensor] = ()


@dataclass(frozen=True, slots=True)
class Queued:
    """Negatives from earlier batches. keys: (K, D), constants. allowed: (B, K), False = the anchor's own old key."""

    keys: Tensor
    allowed: Tensor


@dataclass(frozen=True, slots=True)
class Step:
    """All that a term may look at.

    views: anchors, positives and, where the corpus has them, hard negatives. rng: for choices of the term's own, on the
    device of the tensors. language: token states (M, D) to logits (M, V), there if a part needs it. frozen: for every
    model of the first stage its vectors (B, D) of anchors and of positives, constants. read: ids and mask (N, T) to the
    token states (N, T, D) of one more pass. same: (B,), True where the views render one sentence; None = everywhere.
    edits: further renderings of the anchors that are no candidates of a contrast. sids: (B,) numbers of the sentences
    in their subset. head: pooled vectors (N, D) to (N, P). peer: the same step as a second network sees it, for terms
    that compare networks.
    targets: (V B, T) the ids that were hidden from these views, -100 where nothing was; None = nothing anywhere.
    """

    views: Sequence[EncodedView]
    rng: Generator
    queue: Queued | None = None
    language: Callable[[Tensor], Tensor] | None = None
    frozen: Sequence[Sequence[Tensor]] = ()
    read: Callable[[Tensor, Tensor], Tensor] | None = None
    same: Tensor | None = None
    edits: Sequence[EncodedView] = ()
    sids: Tensor | None = None
    head: Callable[[Tensor], Tensor] | None = None
    peer: Step | None = None
    targets: Tensor | None = None


@dataclass(frozen=True, slots=True)
class Until:
    """When training ends before its last step: after `patience` checks in a row without a new lowest loss.

    every: steps between checks. held_out: sentences whose loss is looked at, at most a tenth of the subset, and which
    are not trained on; 0 = the loss of the batch itself.
    """

    every: int
    patience: int
    held_out: int


class View(Protocol):
    """Renders every sentence of a subset, once, before training.

    views: how many views it gives besides edits. It may have `groups`: how many renderings in turn are composed into
    one view each, such as (1, 2); `notes`, filled by the call: what a reader of the record should know; `edits`: how
    many of its last renderings are edits (see Step); `renderings`: how every view is encoded, where views differ by
    more than their tokens; `templates`: the prompt around each of its renderings, in place of the pooler's.
    """

    @property
    def views(self) -> int:
        """How many lists of texts a call returns."""

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[Text], ...]:
        """N sentences to V lists of N texts or more, aligned by position; the same list twice is tokenised once."""


class Rendering(Protocol):
    """How one view of a batch is encoded."""

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        """Encode B sentences (see Encoder.forward); the encoder is left as it was."""


class Composer(Protocol):
    """Turns encoded renderings of parts of a sentence into views, between pooler and terms."""

    def check(self, groups: Sequence[int], terms: Sequence[Term], queue: bool) -> None:
        """Raise BadSpec if the views, terms or queue of the method do not go with it."""

    def __call__(
        self, views: Sequence[EncodedView], groups: Sequence[int], head: Callable[[Tensor], Tensor]
    ) -> Sequence[EncodedView]:
        """sum(groups) renderings to len(groups) views."""


@runtime_checkable
class Paired(Protocol):
    """A view maker that puts other sentences beside some of a batch, chosen anew at every step."""

    def pair(self, rows: Rows, sentences: int, rng: np.random.Generator) -> Rows:
        """Numbers (B,) of the sentences whose last view stands beside the first view of `rows` (B,), of N in all."""


@runtime_checkable
class Redrawn(Protocol):
    """A view maker whose last view, or several edits in its place, are drawn anew at every step."""

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Tokens of one batch of the last view, cut to `longest`, from its B texts; of k edits: k B rows, in turn."""


class Network(Protocol):
    """A further network that is trained along.

    peer: it reads every view, has all terms of its own and is gone at test; else it reads every view but the first,
    and the dev set chooses between the two. needs: costly outputs of the backbone that it reads.
    """

    peer: ClassVar[bool]
    needs: frozenset[str]

    def __call__(self, encoder: Encoder) -> Encoder:
        """The second network, made when the first one has its weights."""


class Pooler(Protocol):
    """Token states to sentence vectors."""

    needs: ClassVar[frozenset[str]]
    template: str  # the prompt around [X], or "" for none

    def __call__(self, states: States) -> Tensor:
        """Return (B, D)."""


class Head(Protocol):
    """The map after the pooler."""

    keep: bool  # also at test

    def __call__(self, h: Tensor) -> Tensor:
        """Map (B, D) to (B, P)."""


class Term(Protocol):
    """One summand of the loss, unweighted; never gathers over processes.

    It may have `edits`: how many of the view maker's edits it looks at; and `networks = 2`: it compares the encoder
    with its peer, where other terms are taken of each.
    """

    needs: ClassVar[frozenset[str]]
    views: ClassVar[int]  # how many it compares

    def __call__(self, step: Step) -> Tensor:
        """Return a scalar."""


@runtime_checkable
class Founded(Protocol):
    """A term with networks of its own."""

    def found(self, encoder: Encoder) -> None:
        """Make them, once, from the encoder as loaded."""


@runtime_checkable
class Hiding(Protocol):
    """A term that names hidden words. With corrupt_contrast, no term of the method sees them."""

    corrupt_contrast: bool

    def hide(self, ids: Tensor, content: Tensor, rng: Generator) -> tuple[Tensor, Tensor]:
        """Ids (N, T) with some hidden, and what these were; -100 where nothing is to be named."""


@runtime_checkable
class Surveying(Protocol):
    """A term that looks at the whole subset as frozen models see it."""

    def survey(self, frozen: Sequence[Sequence[Tensor]]) -> None:
        """For every model of the first stage, the subset's vectors (N, D) in each of two views; once, in advance."""


class Stages(Protocol):
    """What is trained before the method itself, on the same subset and from the same start, and then frozen."""

    until: Until | None  # None = all its steps
    with_head: bool  # its vectors are those behind the head

    def methods(self, method: Method) -> tuple[Method, ...]:
        """A settled method for every model of the first stage, without stages of its own."""


class Regulariser(Protocol):
    """Noise inside the backbone, in training alone."""

    def attach(self, attentions: Sequence[Module]) -> None:
        """Change the self-attention modules, once, before training."""


class Post(Protocol):
    """A module fitted on the subset's vectors whenever the encoder is looked at, and applied to vectors at test."""

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if it does not go with a subset of so many sentences."""

    def fit(self, vectors: Tensor) -> None:
        """Learn from the vectors (N, D) of the subset, as they are at test."""

    def __call__(self, vectors: Tensor) -> Tensor:
        """Map (N, D) to (N, P)."""


class Memory(Protocol):
    """Negatives from outside the batch."""

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if it does not go with a subset of so many sentences."""

    def start(self, encoder: Encoder, sentences: int) -> None:
        """Begin with this encoder and a subset of so many sentences."""

    def negatives(self, sids: Tensor) -> Queued | None:
        """What the sentences (B,) of this batch are contrasted with."""

    def remember(self, encoder: Encoder, ids: Tensor, mask: Tensor, anchor: Tensor, sids: Tensor, share: Share) -> None:
        """After the optimiser step: follow the encoder and keep this batch, each process encoding its share."""
