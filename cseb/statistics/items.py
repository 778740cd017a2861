"""Variance of a score over samples of test items, in closed form.

A task gives the influence of each item on its score; influences sum to zero. Items that share a sentence are clustered:
their influences are summed before they are squared. The contributions of a difference of methods, of a mean over seeds
or of an average over tasks are the difference, mean or average of contributions.
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
    """The clusters of dependent items of one task.

    labels: (N,), 0 to count - 1. largest: fraction of the items in the largest cluster. used: False if that is above
    LARGEST; then items count as independent, which reports state because intervals may be too narrow.
    """

    labels: Labels
    count: int
    largest: float
    used: bool

    @classmethod
    def of(cls, labels: Labels) -> Clusters:
        """Return the clusters of any labels (N,), N at least 1."""
        _, compact, sizes = np.unique(labels, return_inverse=True, return_counts=True)
        largest = float(sizes.max() / len(labels))
        return cls(compact.astype(np.int64), len(sizes), largest, largest <= LARGEST)

    def contributions(self, influence: Floats) -> Floats:
        """Return what each cluster contributes to the score's deviation: (count,), or (N,) if clusters are unused.

        influence: (N,). The sum of squares of the result is the variance of the score over samples of items.
        """
        if not self.used:
            return influence / len(influence)
        sums: Floats = np.bincount(self.labels, weights=influence, minlength=self.count) / len(influence)
        return sums


def average(contributions: Sequence[Floats]) -> Floats:
    """Return the concatenated contributions to the average of tasks, which count as independent."""
    weight = 1 / len(contributions)
    return np.concatenate([weight * part for part in contributions])


def variance(contributions: Floats) -> float:
    """Return the squared standard error of a score from contributions (G,)."""
    return float(contributions @ contributions)
