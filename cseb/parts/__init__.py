"""The contract between parts and the trainer: what each kind of part receives and returns.

Sizes in every docstring: B sentences, T tokens, D width, L layers, H heads, V words, K queued keys.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt
from torch import Generator, Tensor
from torch.nn import Module

from cseb.encoder.distributed import DistributedContext
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EncodedView, Rows, Text
from cseb.encoder.tokenizer import Tokens
from cseb.methods.spec import Method

Embed = Callable[[Sequence[str]], npt.NDArray[np.float32]]  # N sentences to (N, E)


@dataclass(frozen=True, slots=True)
class Queued:
    """Negatives from earlier batches. keys: (K, D), constants. allowed: (B, K), False = the anchor's own old key."""

    keys: Tensor
    allowed: Tensor


@dataclass(frozen=True, slots=True)
class LossInputs:
    """Everything that a loss term may use.

    views: anchors, positives and perhaps hard negatives. rng: of the term, on the device of the tensors. language:
    token states (M, D) to logits (M, V). frozen: of every frozen teacher the vectors (B, D) of anchors and positives,
    constants. read: ids and mask (N, T) to the token states (N, T, D) of one more pass. same: (B,), True where the
    views render one sentence; None = everywhere. edits: renderings of the anchors, no candidates of a contrast. sids:
    (B,) numbers of the sentences in their subset. head: pooled vectors (N, D) to (N, P). peer: the same step of a
    second network. targets: (V B, T) ids hidden from these views, -100 elsewhere. scores: (B,) ratings, or None.
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
    peer: LossInputs | None = None
    targets: Tensor | None = None
    scores: Tensor | None = None


ALL = 1_000_000  # views, edits or models: as many as there are
MADE = frozenset({"z", "h", "layers", "attentions", "queue", "language", "frozen", "head", "peer"})


@dataclass(frozen=True, slots=True)
class Reads:
    """Inputs on which the value of a term depends, so that a part whose output no term reads is refused."""

    made: frozenset[str]  # fields of LossInputs and EncodedView named in MADE, which other parts compute
    views: int  # how many, counted from the first
    edits: int = 0
    models: int = 0  # frozen teachers of the first stage
    tokens: int = 0  # of how many views it reads ids, mask or content, which composed views lack


EVERYTHING = Reads(MADE, ALL, ALL, ALL)  # assumed of a term that does not declare what it reads


def reads(*made: str, views: int, edits: int = 0, models: int = 0, tokens: int = 0) -> Reads:
    """Return `Reads` from the short form in which terms write it."""
    return Reads(frozenset(made), views, edits, models, tokens)


@dataclass(frozen=True, slots=True)
class EarlyStopping:
    """Stop training after `patience` checks in a row without a new lowest loss."""

    every: int  # steps between checks
    patience: int
    held_out: int  # sentences, at most a tenth of the subset, for the loss alone; 0 = the loss of the batch


class View(Protocol):
    """Renders every sentence of a subset, once, before training.

    views: number of views besides edits. It may have `groups`: numbers of renderings composed into one view each, such
    as (1, 2); `notes` for the record and `scores`, (N,) ratings, filled by the call; `unlike`: its pairs that are no
    positives, in words; `edits`: how many of its last renderings are edits (see LossInputs); `renderings`: how every
    view is encoded, where views differ by more than tokens; `templates`: the prompt around each rendering, in place of
    the pooler's; `changes_layers = True`, as of terms and tunings: layers cannot be computed again for the gradient.
    """

    @property
    def views(self) -> int:
        """Number of lists of texts that a call returns."""

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[Text], ...]:
        """Return V lists of N texts or more for N sentences, aligned; the same list twice is tokenised once."""


class Rendering(Protocol):
    """Encodes one view of a batch."""

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        """Encode B sentences (see Encoder.forward); the encoder is left as it was."""


class Composer(Protocol):
    """Turns encoded renderings of parts of a sentence into views, between pooler and terms."""

    def check(self, groups: Sequence[int], terms: Sequence[Term], queue: bool) -> None:
        """Raise BadSpec if the views, terms or queue of the method do not go with it."""

    def __call__(
        self, views: Sequence[EncodedView], groups: Sequence[int], head: Callable[[Tensor], Tensor]
    ) -> Sequence[EncodedView]:
        """Return len(groups) views from sum(groups) renderings."""


@runtime_checkable
class Paired(Protocol):
    """A view maker that pairs some sentences of a batch with other sentences, drawn anew at every step."""

    def pair(self, rows: Rows, sentences: int, rng: np.random.Generator) -> Rows:
        """Return the indices (B,), out of N, of the sentences whose last view is paired with `rows` (B,)."""


@runtime_checkable
class Mined(Paired, Protocol):
    """A view maker whose last view is a hard negative, another sentence of the subset."""

    def mine(self, anchors: npt.NDArray[np.float32], positives: npt.NDArray[np.float32]) -> Rows:
        """Return the rows (N,) of the negatives, from the loaded encoder's vectors (N, D) of the first two views."""


@runtime_checkable
class Redrawn(Protocol):
    """A view maker whose last view, or several views or edits in its place, is drawn anew at every step."""

    def redraw(self, encoder: Encoder, texts: Sequence[str], longest: int, rng: np.random.Generator) -> Tokens:
        """Return the tokens of the last view of B texts, cut to `longest`; k B rows for k views in its place."""


class Network(Protocol):
    """A further network that is trained together with the encoder.

    peer: it reads every view, has every term and is not used at test; else it reads every view but the first, and the
    dev set selects one of the two.
    """

    peer: ClassVar[bool]
    needs: frozenset[str]  # costly outputs of the backbone that it reads

    def __call__(self, encoder: Encoder) -> Encoder:
        """Return the second network, made after the first one has its weights."""


class Term(Protocol):
    """One summand of the loss, unweighted; it never gathers over processes.

    It may have `edits`: how many of the view maker's edits it needs; `networks = 2`: it compares the encoder with its
    peer, where other terms are computed for each; `ratings = True`: it reads `scores`; `same = True`: it reads `same`;
    `hard_frozen = True`: it reads a frozen teacher's vectors of hard negatives; `same_width = True`: it compares
    vectors with those of a frozen teacher number by number; `reads_anew = True`: it encodes the tokens of the views
    itself; `of_own_weights = True`: it reads the backbone's weights; `reads`: see Reads, by default everything.
    """

    needs: ClassVar[frozenset[str]]
    views: ClassVar[int]  # how many it compares

    def __call__(self, step: LossInputs) -> Tensor:
        """Return a scalar; entropies and cross-entropies are in nats."""


@runtime_checkable
class NeedsSetup(Protocol):
    """A term with networks of its own."""

    def setup(self, encoder: Encoder) -> None:
        """Prepare the term, once, with the encoder as loaded, before training."""


@runtime_checkable
class Pooled(Protocol):
    """A term or tuning part that has requirements for the pooler."""

    def pools(self, pooler: Any) -> None:
        """Raise BadSpec if the pooler does not meet the requirements."""


@runtime_checkable
class Hiding(Protocol):
    """A term that predicts hidden tokens. With corrupt_contrast, all terms of the method read the corrupted tokens."""

    corrupt_contrast: bool

    def hide(self, ids: Tensor, content: Tensor, rng: Generator) -> tuple[Tensor, Tensor]:
        """Return ids (N, T) with some hidden, and the original ids of these; -100 elsewhere."""


@runtime_checkable
class NeedsPrecomputedTargets(Protocol):
    """A term that uses the frozen teachers' vectors of all sentences that training draws."""

    def precompute_targets(self, frozen: Sequence[Sequence[Tensor]]) -> None:
        """Store what is needed of every frozen teacher's vectors (N, D), in two views; once, before training."""


class Stages(Protocol):
    """Models that are trained before the method itself, on the same subset from the same start, and then frozen."""

    until: EarlyStopping | None  # None = all its steps
    with_head: bool  # its vectors are those after the head

    def methods(self, method: Method) -> tuple[Method, ...]:
        """Return a resolved method, without stages of its own, for every frozen teacher of the first stage."""


@runtime_checkable
class Outside(Protocol):
    """A stage without `methods`: its frozen vectors are those of an external embedder, as `cseb eval` names one."""

    encoder: str
    pooler: str
    own_width: bool  # its vectors have the width of the embedder, else that of the encoder

    def targets(self, embed: Embed, views: Sequence[Sequence[Text]]) -> list[Tensor]:
        """Return the frozen vectors (N, E) of the subset in each of two views. Raises: BadSpec."""


class Tuning(Protocol):
    """Selects the weights of the encoder that are trained, or changes the encoder otherwise.

    It may have `stays = True`: what it adds is needed at test and fits into no ordinary checkpoint; `longer_maps =
    True`: tokens attend to more than one another; `works_untrained = True`: it changes vectors without training;
    `pools`, as of `Pooled`. adds_weights: it adds weights of its own to those of the backbone.
    """

    adds_weights: bool

    def attach(self, encoder: Encoder) -> None:
        """Change the encoder as loaded, once, before training. Raises: BadSpec."""

    def plain(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return a checkpoint of the changed encoder as one of an ordinary encoder."""

    def detach(self, encoder: Encoder) -> None:
        """Turn the encoder into an ordinary one again, once, after training."""


class Wrapper(Protocol):
    """Evaluates a term in a special way, such as once for each of several widths."""

    def check(self, terms: Sequence[Term], head: Any) -> None:
        """Raise BadSpec if it does not go with the terms or the head of the method."""

    def __call__(self, term: Term, step: LossInputs) -> Tensor:
        """Return the value of this term, a scalar."""


class Mixer(Protocol):
    """Changes the weights after training."""

    def __call__(self, start: Mapping[str, Tensor], trained: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Return the entries that are tested, from those of the encoder at the start and of a checkpoint."""


class Regulariser(Protocol):
    """Noise inside the backbone, in training only."""

    def attach(self, attentions: Sequence[Module]) -> None:
        """Change the self-attention modules, once, before training."""


class Memory(Protocol):
    """Negatives from outside the batch."""

    def fits(self, sentences: int) -> None:
        """Raise BadSpec if the subset has too few sentences."""

    def start(self, encoder: Encoder, sentences: int) -> None:
        """Begin with this encoder and a subset of this many sentences."""

    def negatives(self, sids: Tensor) -> Queued | None:
        """Return the negatives for the sentences (B,) of this batch."""

    def remember(
        self, encoder: Encoder, ids: Tensor, mask: Tensor, anchor: Tensor, sids: Tensor, distributed: DistributedContext
    ) -> None:
        """Update the memory with this batch after the optimiser step; each process encodes its fraction."""
