"""Folds for cross-validation: seeded, stratified, and grouped so that no text is in two folds."""

from __future__ import annotations

import numpy as np

from cseb.data.subset import order
from cseb.errors import BadData
from cseb.tasks.influence import Labels

SEED = 1111  # as in SentEval


def deal(groups: Labels, strata: Labels, folds: int, name: str) -> Labels:
    """Return the fold of each item, from 0: (N,).

    Items of one group are in one fold. Groups are shuffled with a fixed seed, sorted by stratum (that of their first
    item) and assigned in turn, so that each stratum is spread evenly. The result is the same on every machine.
    Raises: BadData with `name` if there are fewer groups than folds.
    """
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    if folds < 2 or len(first) < folds:
        raise BadData(f"{name} allows 2 to {len(first)} folds, as many as items without common text; {folds} asked for")
    drawn = order(len(first), SEED)
    drawn = drawn[np.argsort(strata[first][drawn], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[drawn] = np.arange(len(first)) % folds
    result: Labels = fold[place]
    return result
