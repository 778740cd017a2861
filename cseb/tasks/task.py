"""The contract between a task and the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]  # N sentences to (N, D), same order


Items = npt.NDArray[np.float32]  # (N,) or (N, K): what an encoder did on each pair, sentence or query, in data order
Influence = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Outcome:
    """Scores of one encoder on one task.

    value: points, the protocol's own figure; None when all similarities are equal or not finite (a collapsed encoder).
    detail: every other figure by name.
    """

    value: float | None
    detail: dict[str, float | None]


class Loaded(Protocol):
    """A task with its data in memory.

    Scoring has two halves, so that every figure and every statistic can be worked out again without the model: what
    the encoder did on each item (stored beside the record), and what that is worth.
    """

    def sentences(self) -> Sequence[str]:
        """Every sentence the task will ask for, repeats allowed."""

    def sha256(self) -> str:
        """Of everything the score depends on but the encoder: sentences, order, ratings."""

    def items(self, embed: Embed) -> Items:
        """What the encoder does on each item: a similarity, a predicted class, a rank."""

    def outcome(self, items: Items) -> Outcome:
        """The figures of the protocol, from the items and the data alone."""

    def influence(self, items: Items) -> Influence:
        """Influence of each item on the score, in points, (N,), summing to zero.

        The variance of the score over samples of items is the sum of squares / N ** 2; sums inside a cluster of items
        come before the squares. NaN throughout where the score is not defined.
        """

    def clusters(self) -> npt.NDArray[np.int64]:
        """Cluster label of each item, (N,): items of one cluster are dependent, such as pairs sharing a sentence."""


class Task(Protocol):
    """A task by name. `version` rises when the score of an unchanged encoder would change."""

    @property
    def name(self) -> str:
        """As users type it."""

    @property
    def version(self) -> int:
        """Part of what records say."""

    @property
    def protocol(self) -> str:
        """How it is measured, such as simcse-sts@1; two protocols never share a column."""

    def __hash__(self) -> int:
        """Equal tasks have equal data."""

    def load(self, data_dir: Path | None) -> Loaded:
        """Read and check the data. Raises: BadData with what was found and what belongs there."""
