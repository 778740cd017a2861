"""How well a question finds its answers among candidates: the share of hits in the first k, and average precision."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

Scores = npt.NDArray[np.floating]


def ranks(scores: Scores, relevant: Sequence[Collection[int]]) -> list[list[int]]:
    """For every query the places of its relevant candidates, best first, counted from 1; ties keep their order.

    scores: (Q, N), higher is better. relevant: Q collections of candidates, each with one or more.
    """
    places = np.argsort(np.argsort(-scores, axis=1, kind="stable"), axis=1, kind="stable") + 1  # (Q, N)
    return [sorted(int(row[candidate]) for candidate in found) for row, found in zip(places, relevant, strict=True)]


def top_k(scores: Scores, relevant: Sequence[Collection[int]], k: int) -> float:
    """Share of queries with a relevant candidate among the first k. Source: Tan et al. 2022, table 2."""
    return float(np.mean([found[0] <= k for found in ranks(scores, relevant)]))


def mean_average_precision(scores: Scores, relevant: Sequence[Collection[int]]) -> float:
    """Mean over queries of average precision; with one relevant candidate each, the mean reciprocal rank.

    Source: Tan et al. 2022, table 2 (MAP).
    """
    return float(
        np.mean([np.mean([(n + 1) / place for n, place in enumerate(found)]) for found in ranks(scores, relevant)])
    )
