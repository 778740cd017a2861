"""Influence of each item on a score, clusters of dependent items, and folds that no cluster is split by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.data.subset import order
from cseb.errors import BadData
from cseb.tasks.task import Influence, Items

Labels = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def spearman_influence(similarity: Items, gold: Floats, strata: Labels) -> Influence:
    """Return the influence of each pair (N,) on 100 x Spearman's rho of all pairs; NaN where rho is undefined.

    similarity, gold: (N,). strata: the fixed sub-dataset of each pair; influences are centred inside it.
    Delta method: rho is Pearson's correlation of mid-ranks u and v divided by N, ties counted half, and one pair
    changes the ranks of all others. Time O(N log N).
    """
    if not (np.isfinite(similarity).all() and np.ptp(similarity) > 0 and np.ptp(gold) > 0):
        return np.full(len(gold), np.nan)
    by_similarity, by_gold = _Ranking.of(similarity), _Ranking.of(gold)
    u, v = by_similarity.mid_ranks(), by_gold.mid_ranks()
    u, v = u - u.mean(), v - v.mean()
    above_v, above_u = by_similarity.mean_at_or_above(v), by_similarity.mean_at_or_above(u)
    v_above, u_above = by_gold.mean_at_or_above(v), by_gold.mean_at_or_above(u)
    joint = u * v + above_v + u_above  # h of the sources; a and b are the same with both ranks equal
    own_u, own_v = u * u + 2 * above_u, v * v + 2 * v_above
    joint, own_u, own_v = joint - joint.mean(), own_u - own_u.mean(), own_v - own_v.mean()
    var_u, var_v = u.var(), v.var()
    rho = float((u * v).mean() / np.sqrt(var_u * var_v))
    moves = joint / np.sqrt(var_u * var_v) - rho / 2 * (own_u / var_u + own_v / var_v)
    return 100 * within(moves, strata)


def mean_influence(values: Floats) -> Influence:
    """Return the influence of each item (N,) on the mean of `values`."""
    return within(values, np.zeros(len(values), dtype=np.int64))


def within(values: Floats, strata: Labels) -> Floats:
    """Return `values` (N,) less the mean of their stratum."""
    _, place = np.unique(strata, return_inverse=True)
    means = np.bincount(place, weights=values) / np.bincount(place)
    centred: Floats = values - means[place]
    return centred


def connected(pairs: Sequence[tuple[str, ...]]) -> Labels:
    """Return labels (N,) of groups of texts, equal for groups joined by a chain of shared texts."""
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while (above := parent.setdefault(text, text)) != text:
            parent[text] = parent[above]  # path halving
            text = above
        return text

    for first, *others in pairs:
        for other in others:
            parent[root(other)] = root(first)
    labels: dict[str, int] = {}
    return np.array([labels.setdefault(root(pair[0]), len(labels)) for pair in pairs], dtype=np.int64)


class _Ranking(NamedTuple):
    """N values: the index of each among the K distinct ones (N,), and how often these occur (K,)."""

    place: Labels
    counts: Labels

    @classmethod
    def of(cls, values: Items | Floats) -> _Ranking:
        """Return the ranking of values (N,)."""
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        return cls(place, counts)

    def mid_ranks(self) -> Floats:
        """Return mid-ranks / N (N,): ties share the mean of their ranks."""
        ranks: Floats = (np.cumsum(self.counts) - (self.counts - 1) / 2)[self.place] / len(self.place)
        return ranks

    def mean_at_or_above(self, weights: Floats) -> Floats:
        """Return (1/N) sum_j weights_j [value_j >= value_i], equal values counted half, for each i."""
        sums = np.bincount(self.place, weights=weights)
        above = sums.sum() - np.cumsum(sums) + sums / 2
        result: Floats = above[self.place] / len(self.place)
        return result


SEED = 1111  # as in SentEval


def deal(groups: Labels, strata: Labels, folds: int, name: str) -> Labels:
    """Return the fold of each item, from 0: (N,).

    Items of one group are in one fold. Groups are shuffled with a fixed seed, sorted by stratum (that of their first
    item) and assigned in turn, so that each stratum is spread evenly. The result is the same on every machine.
    Raises: BadData with `name` if there are fewer groups than folds.
    """
    _, first, place = np.unique(groups, return_index=True, return_inverse=True)
    if len(first) < 2:
        raise BadData(f"{name} cannot be divided into folds: its {len(groups)} items are connected by common texts")
    if folds < 2 or len(first) < folds:
        raise BadData(f"{name} allows 2 to {len(first)} folds, as many as items without common text; {folds} asked for")
    drawn = order(len(first), SEED)
    drawn = drawn[np.argsort(strata[first][drawn], kind="stable")]
    fold = np.empty(len(first), dtype=np.int64)
    fold[drawn] = np.arange(len(first)) % folds
    result: Labels = fold[place]
    return result
