"""Pairs of sentences of one class and of two, drawn from labelled sentences as SetFit does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

ITERATIONS = 20  # pairs of one class, and of two, for each example: R of the paper, num_iterations of setfit


@dataclass(frozen=True, slots=True, eq=False)
class ClassPairs:
    """Pairs of sentences of one class or of two, on which an encoder is fine-tuned.

    texts: the sentences. left, right: (P,), rows of `texts`. same: (P,), 1 for two sentences of one class, else 0.
    """

    texts: Sequence[str]
    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    same: npt.NDArray[np.float32]


def class_pairs(
    texts: Sequence[str],
    labels: npt.NDArray[np.int64],
    rng: np.random.Generator,
    iterations: int = ITERATIONS,
    most: int = 0,
) -> ClassPairs:
    """Return N x iterations pairs of one class and as many of two, shuffled, for N texts of two classes or more.

    No pair is drawn twice before each has been drawn. A text with itself is a pair too. most: number of pairs; 0 for
    all. Source: setfit 1.2, ContrastiveDataset.
    """
    pairs = rng.permutation(np.stack(np.triu_indices(len(labels)), axis=1))
    same = labels[pairs[:, 0]] == labels[pairs[:, 1]]
    drawn = np.concatenate([np.resize(side, (len(labels) * iterations, 2)) for side in (pairs[same], pairs[~same])])
    left, right = rng.permutation(drawn)[: most or None].T
    return ClassPairs(texts, left, right, (labels[left] == labels[right]).astype(np.float32))
