"""Interfaces of tasks, and what the evaluator passes to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cseb.data.lines import ClassPairs

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]  # N sentences to (N, D), same order
Items = npt.NDArray[np.float32]  # (N,) or (N, K): results of an encoder on each pair, sentence or query, in data order
Influence = npt.NDArray[np.float64]

# Figures that are not points with higher ones better, by the first word of their protocol; averages leave them alone.
SCALES: Mapping[str, str] = {
    "alignment": "0 to 4, lower is better",
    "uniformity": "-8 to 0, lower is better",
    "anisotropy": "mean cosine, lower is better",
    "effective-rank": "1 to width, higher is better",
}

Tune = Callable[[ClassPairs, float, int], Embed]  # pairs, learning rate and seed to a fine-tuned copy of an encoder


@dataclass(frozen=True, slots=True)
class Outcome:
    """Scores of one encoder on one task.

    value: the score of the protocol; None if all similarities are equal or not finite (a collapsed encoder).
    detail: all scores by name.
    """

    value: float | None
    detail: dict[str, float | None]


class Loaded(Protocol):
    """A task with its data in memory.

    Scoring has two steps: the results of the encoder on each item, which are stored beside the record, and the scores.
    All scores and statistics can therefore be computed again without the model.
    """

    def sentences(self) -> Sequence[str]:
        """Return every sentence that `items` embeds, repeats allowed."""

    def sha256(self) -> str:
        """Return the hash of all that the score depends on but the encoder: sentences, order, ratings."""

    def items(self, embed: Embed) -> Items:
        """Return the result on each item: a similarity, a predicted class, a rank."""

    def outcome(self, items: Items) -> Outcome:
        """Return the scores of the protocol, from items and data only."""

    def influence(self, items: Items) -> Influence:
        """Return the influence of each item on the score, (N,), summing to zero; NaN throughout without a score.

        The variance of the score over samples of items is the sum of squares / N ** 2, influences being summed within
        clusters before they are squared.
        """

    def clusters(self) -> npt.NDArray[np.int64]:
        """Return the cluster of each item, (N,): items that depend on each other, such as pairs with a common text."""


def calls_encoder(loaded: Loaded) -> bool:
    """Return whether a task calls the encoder itself instead of listing its sentences (`calls_encoder = True`)."""
    return bool(getattr(loaded, "calls_encoder", False))


class Task(Protocol):
    """A task by name. `version` rises when the score of an unchanged encoder would change."""

    @property
    def name(self) -> str:
        """Return the name as users type it."""

    @property
    def version(self) -> int:
        """Return the version, which records state."""

    @property
    def protocol(self) -> str:
        """Return how scores are measured, such as simcse-sts@1; scores of two protocols never share a column."""

    def __hash__(self) -> int:
        """Equal tasks have equal data."""

    def load(self, data_dir: Path | None) -> Loaded:
        """Return the data, read and checked. Raises: BadData."""


def scale_of(protocol: str) -> str:
    """Return the range of figures of this protocol and which are better; "" for scores, where higher is better."""
    return SCALES.get(protocol.partition("@")[0].partition("(")[0], "")
