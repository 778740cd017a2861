"""View makers: V aligned lists of texts for N sentences, once per subset; changes at the embedding layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor, nn

from cseb.data.bounded import read_lines
from cseb.encoder.encoder import Encoder
from cseb.encoder.interface import EMBEDDINGS, EncodedView, Rows
from cseb.encoder.random_streams import random_stream
from cseb.errors import BadData, BadSpec
from cseb.methods.option_types import Count, DropoutRate, Rate
from cseb.parts import Rendering
from cseb.parts.base import BasePart, EncoderPart, check_dropout

# Rates that are numbers: of a module (attention of ModernBERT, Llama and T5, all layers of OPT), or, in Falcon, of the
# configuration, which is read in each forward pass.
BARE_RATES = ("attention_dropout", "dropout", "hidden_dropout", "embedding_dropout", "residual_dropout")


@contextmanager
def dropout_at(backbone: nn.Module, rate: float) -> Iterator[None]:
    """Set every dropout rate of the backbone to `rate` within this context."""
    own: list[tuple[Any, str, float]] = []
    for module in (*backbone.modules(), backbone.config):
        for name in ("p",) if isinstance(module, nn.Dropout) else BARE_RATES:
            value = getattr(module, name, None)  # 0 where so configured
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                own.append((module, name, value))
                setattr(module, name, rate)
    try:
        yield
    finally:
        for module, name, value in own:
            setattr(module, name, value)


@contextmanager
def positions_at(backbone: nn.Module, places: Tensor) -> Iterator[None]:
    """Set the positions (N, T) of the tokens within this context."""
    with backbone.register_forward_pre_hook(
        lambda module, inputs, options: (inputs, {**options, "position_ids": places}), with_kwargs=True
    ):
        yield


class Plain:
    """The encoder's ordinary rendering, and the base of renderings in which the encoder is changed meanwhile."""

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        """Return the context in which sentences with this mask (B, T) are encoded."""
        return nullcontext()

    def __call__(self, encoder: Encoder, ids: Tensor, mask: Tensor, content: Tensor, anchor: Tensor) -> EncodedView:
        with self.changed(encoder, mask):
            view: EncodedView = encoder(ids, mask, content, anchor)
        return view


class AtRate(Plain):
    """Rendering with every dropout rate of the backbone at `rate`."""

    def __init__(self, rate: float) -> None:
        self.rate = rate

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        return dropout_at(encoder.backbone, self.rate)


def cut_features(states: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero a fraction of the coordinates of each sentence, at all tokens. states: (B, T, D), mask: (B, T)."""
    order = torch.rand(len(states), states.shape[2], device=states.device).argsort(dim=1)  # (B, D)
    return states * (order >= int(rate * states.shape[2])).to(states.dtype)[:, None, :]


def cut_tokens(states: Tensor, mask: Tensor, rate: float) -> Tensor:
    """Zero a fraction of the real tokens of each sentence. states: (B, T, D), mask: (B, T)."""
    rank = torch.rand(mask.shape, device=mask.device).masked_fill(mask == 0, 2.0).argsort(dim=1).argsort(dim=1)
    return states * (rank >= (rate * mask.sum(dim=1, keepdim=True)).long()).to(states.dtype)[:, :, None]


def shuffled_places(mask: Tensor) -> Tensor:
    """Return positions (B, T): those of real tokens in random order, those of padding unchanged."""
    later = 1.0 + torch.arange(mask.shape[1], device=mask.device)
    return torch.where(mask == 1, torch.rand(mask.shape, device=mask.device), later).argsort(dim=1)


class Cutoff(Plain):
    """Rendering with a fraction of the features or tokens zeroed behind the embedding layer."""

    def __init__(self, cut: Callable[[Tensor, Tensor, float], Tensor], rate: float) -> None:
        self.cut, self.rate = cut, rate

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        embeddings: Any = encoder.backbone.embeddings
        return embeddings.register_forward_hook(  # type: ignore[no-any-return]
            lambda module, inputs, states: self._cut(states, mask)
        )

    def _cut(self, states: Tensor, mask: Tensor) -> Tensor:
        with random_stream("views"):
            return self.cut(states, mask, self.rate)


class PositionShuffle(Plain):
    """Rendering with the positions of all tokens shuffled, special ones included."""

    def __init__(self, first_position: int) -> None:
        self.first = first_position

    def changed(self, encoder: Encoder, mask: Tensor) -> AbstractContextManager[Any]:
        with random_stream("views"):
            places = shuffled_places(mask)
        return positions_at(encoder.backbone, self.first + places)


class Identity(BasePart):
    """The sentence once; it is compared with the output of a term's own network.

    Source: Kim et al. 2021 (SG-OPT).
    """

    views = 1

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return (sentences,)


class Twice(BasePart):
    """The same sentences in both views, which differ by how a batch is made or encoded."""

    views = 2

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        return sentences, sentences


class Dropout(EncoderPart, Twice):
    """The sentence twice; the views differ by dropout masks only.

    Source: Gao et al. 2021, section 3. Raises: BadSpec on an encoder without dropout: the views would be equal.
    """

    def __post_init__(self) -> None:
        check_dropout("dropout", self.shape)


class MultiDropout(Twice):
    """The sentence twice, encoded with two dropout rates that replace all rates of the encoder in training.

    rates: of anchors and positives. Source: Klein & Nabi 2022 (SCD), section 3 ("multi-dropout"); authors' code.
    """

    changes_layers: ClassVar[bool] = True

    # SCD release, BERT-base
    def __init__(self, rates: tuple[DropoutRate, DropoutRate] = (0.05, 0.155)) -> None:
        self.renderings = tuple(map(AtRate, rates))


EmbeddingEdit = Literal["feature_cutoff", "token_cutoff", "position_shuffle", "none"]


class EmbeddingEdits(EncoderPart, Twice):
    """The sentence twice, each changed at the embedding layer.

    first, second: of anchors and positives, "feature_cutoff", "token_cutoff", "position_shuffle" or "none". rate:
    fraction that a cutoff sets to zero. Source: Yan et al. 2021 (ConSERT), data augmentation; authors' code. Raises:
    BadSpec if positions are to be shuffled in an encoder that takes no positions.
    """

    needs: ClassVar[frozenset[str]] = frozenset({EMBEDDINGS})
    version: ClassVar[int] = 2
    first: EmbeddingEdit | None = "feature_cutoff"  # ConSERT
    second: EmbeddingEdit | None = "position_shuffle"
    rate: Rate = 0.2

    def __post_init__(self) -> None:
        renderings: dict[EmbeddingEdit, Rendering] = {
            "feature_cutoff": Cutoff(cut_features, self.rate),
            "token_cutoff": Cutoff(cut_tokens, self.rate),
            "position_shuffle": PositionShuffle(self.shape.first_position or 0),
            "none": Plain(),
        }
        chosen = (self.first or "none", self.second or "none")
        if "position_shuffle" in chosen and self.shape.first_position is None:
            raise BadSpec("embedding_edits: this encoder finds positions itself; take feature_cutoff and token_cutoff")
        self.renderings = tuple(renderings[name] for name in chosen)


def read_columns(file: str, what: str, columns: str) -> list[tuple[int, list[str]]]:
    """Return number and columns, separated by TABs, of every line of a UTF-8 file that is not blank.

    what, columns: the part that reads it and what it reads, for messages. Raises: BadSpec without a file, BadData.
    """
    if not isinstance(file, str) or not file:
        raise BadSpec(f'{what}: file is missing; write {what}(file="file.tsv"), lines {columns}')
    try:
        lines = read_lines(Path(file))
    except BadData as error:
        raise BadData(f"{what}: {error}") from None
    rows = [(number, [column.strip() for column in line.split("\t")]) for number, line in enumerate(lines, 1)]
    return [row for row in rows if any(row[1])]


class Paraphrase(BasePart):
    """The sentence, and its paraphrase or back-translation read from a file.

    file: lines "sentence TAB paraphrase", UTF-8. Source: MSSE, section 3 (English-German-English). Raises: BadData if
    the file cannot be read or lacks a sentence of the subset.
    """

    data_seen: ClassVar[str] = "external"
    external: ClassVar[Mapping[str, str]] = {"file": "file"}
    requires: ClassVar[str] = "paraphrases"
    views = 2

    file: str = ""

    def __post_init__(self) -> None:
        self.paraphrases = {}  # read now, so that a bad file is refused before anything trains
        for number, (sentence, *columns) in read_columns(self.file, "paraphrase", "sentence TAB paraphrase"):
            if len(columns) != 1:
                raise BadData(f"paraphrase: {self.file} line {number} needs 2 columns, has {1 + len(columns)}")
            self.paraphrases[sentence] = columns[0]

    def __call__(self, sentences: Sequence[str]) -> tuple[Sequence[str], ...]:
        paraphrases = self.paraphrases
        missing = [sentence for sentence in sentences if sentence not in paraphrases]
        if missing:
            raise BadData(
                f"{self.file} lacks a paraphrase of {len(missing)} of {len(sentences)} sentences: {missing[0]!r}, ..."
            )
        return sentences, [paraphrases[sentence] for sentence in sentences]


class RandomPairs(Twice):
    """Collections of pairs: a sentence with itself, then `negatives` sentences with other random ones.

    No dropout is needed: further networks make the views differ. Source: Carlsson et al. 2021 (CT); its
    authors' code for negatives that do not contain the collection's positive. Raises: BadSpec below three sentences.
    """

    unlike: ClassVar[str] = "pairs of different sentences"
    negatives: Count = 7  # CT release

    def pair(self, rows: Rows, sentences: int, rng: np.random.Generator) -> Rows:
        """Return each (negatives + 1)-th of rows (B,) itself; for the others a random other sentence."""
        if sentences < 3:
            raise BadSpec(f"random_pairs: this subset has {sentences} sentences; a negative pair needs 3, take more")
        places = np.arange(len(rows))
        positives = rows[places - places % (self.negatives + 1)]  # (B,) the positive of everyone's collection
        others = np.where(positives == rows, rows, -1)
        while (open_ := others < 0).any():
            drawn = rng.integers(sentences, size=len(rows))
            others = np.where(open_ & (drawn != rows) & (drawn != positives), drawn, others)
        return others
