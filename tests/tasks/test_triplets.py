"""Triplets: accuracy by hand and as sentence-transformers has it."""

from collections.abc import Sequence

import numpy as np
import pytest

from cseb.tasks.pairs import Triplets

TASK = Triplets(["a", "b", "c", "c"], ["p", "q", "r", "s"], ["n", "m", "o", "s"])
VECTORS = {
    **dict.fromkeys("abc", (1, 0)),
    **dict.fromkeys("pqs", (1, 0.1)),
    **dict.fromkeys("nm", (1, 1)),
    "r": (0, 1),
    "o": (1, 0),
}


def embed(sentences: Sequence[str]) -> np.ndarray:
    return np.array([VECTORS[sentence] for sentence in sentences], dtype=np.float32)


def test_accuracy_by_hand() -> None:
    items = TASK.items(embed)
    assert items == pytest.approx([1.01**-0.5 - 0.5**0.5, 1.01**-0.5 - 0.5**0.5, 0 - 1, 0])
    assert (items > 0).tolist() == [True, True, False, False]  # the last are equal, which is not closer
    assert TASK.outcome(items).value == TASK.outcome(items).detail["accuracy"] == 50
    assert TASK.influence(items).tolist() == [50, 50, -50, -50]
    assert TASK.clusters().tolist() == [0, 1, 2, 2]
    assert Triplets(["a", "b", "c"], ["p", "q", "r"], ["n", "n", "a"]).clusters().tolist() == [0, 0, 0]
