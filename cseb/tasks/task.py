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


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one task says of one encoder.

    value: points, the protocol's own figure; None when all similarities are equal or not finite (a collapsed encoder).
    detail: every other figure by name. items: per pair or sentence, float32, in the order of the data, so that any
    statistic can be worked out later without the model.
    """

    value: float | None
    detail: dict[str, float | None]
    items: npt.NDArray[np.float32]


class Loaded(Protocol):
    """A task with its data in memory."""

    def sentences(self) -> Sequence[str]:
        """Every sentence the task will ask for, repeats allowed."""

    def sha256(self) -> str:
        """Of everything the score depends on but the encoder: sentences, order, ratings."""

    def score(self, embed: Embed) -> Outcome:
        """Score an encoder through `embed` alone."""


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

    def load(self, data_dir: Path | None) -> Loaded:
        """Read and check the data. Raises: BadData with what was found and what belongs there."""
