"""How far a score would move on other test items: the variance that a closed form gives without a bootstrap.

A task says by how many points each item moves its score (its influence, summing to zero). Items that share a sentence
are clustered: their influences are summed before they are squared. Everything linear is done on these sums:
a difference of two methods, a mean over seeds and an average over tasks have the difference, mean and average of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.int64]
LARGEST = 0.2  # fraction of the items in one cluster above which clusters are too few and too unequal to be summed


@dataclass(frozen=True, slots=True)
class Clusters:
    """Which items of one task belong together, and whether the variance takes that into account.

    labels: (N,), 0 to count - 1. largest: fraction of the items in the largest cluster. used: False if that is above
    LARGEST; then every item counts by itself, which may be too optimistic and is said.
    """

    labels: Labels
    count: int
    largest: float
    used: bool

    @classmethod
    def of(cls, labels: Labels) -> Clusters:
        """From any labels (N,), N at least 1."""
        _, compact, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        largest = float(sizes.max() / len(labels))
        return cls(compact.astype(np.int64), len(sizes), largest, largest <= LARGEST)

    def contributions(self, influence: Floats) -> Floats:
        """What each cluster contributes to the score's deviation, in points: (count,), or (N,) if clusters are unused.

        influence: (N,) in points. The sum of squares of the result is the variance of the score over samples of items.
        """
        if not self.used:
            return influence / len(influence)
        sums: Floats = np.bincount(self.labels, weights=influence, minlength=self.count) / len(influence)
        return sums


def average(contributions: Sequence[Floats], weights: Sequence[float] | None = None) -> Floats:
    """Contributions to the weighted sum of several tasks, equal weights adding to one by default: end to end.

    Tasks count as independent: an item that two tasks have in common is not followed from one to the other.
    """
    chosen = weights if weights is not None else [1 / len(contributions)] * len(contributions)
    return np.concatenate([weight * one for weight, one in zip(chosen, contributions, strict=True)])


def variance(contributions: Floats) -> float:
    """Squared standard error, in points squared, from contributions (G,)."""
    return float(contributions @ contributions)
