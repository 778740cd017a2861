"""Ranking documents by the cosine of their embedding with that of a query: retrieval from a pool, and reranking."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels, mean_influence
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors

TOP = (1, 3, 5)
CELLS = 2**22  # similarities held at a time: 16 MB
COLUMNS = 2**13  # documents raised to float64 at a time

Numbers = npt.NDArray[np.int64]


class Pool(NamedTuple):
    """Queries, and the documents each of them is ranked against: numbers, rising."""

    queries: Numbers
    documents: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Queries, documents and which of them belong together.

    relevant: for each query the numbers of its relevant documents, one or more, all in its pool; whatever nobody has
    judged is irrelevant. groups: (Q,), clusters of dependent queries. folds: (Q,) from 0, or None.

    The score is 100 x MAP: the mean over queries of average precision over the full ranking, no cut-off. `detail` holds
    `map`, `mrr`, and `top1`, `top3`, `top5`: the fraction of queries with a relevant document among the first k. With
    folds also each figure inside a fold (`map/fold1`) and the mean of these (`map.folds`), which is what a paper prints
    that trains on the other folds. Equal cosines are ranked by the number of the document, a zero vector has cosine 0.
    `items` are average precision and rank of the first relevant document of each query, (Q, 2).

    Source: Tan et al. 2022, section 4.2 and table 2.
    """

    queries: Sequence[str]
    documents: Sequence[str]
    relevant: Sequence[Sequence[int]]
    pools: Sequence[Pool]
    groups: Labels
    folds: Labels | None = None

    def sentences(self) -> list[str]:
        """Queries, then documents."""
        return [*self.queries, *self.documents]

    def sha256(self) -> str:
        """Of the texts, what is relevant, the pools and the folds."""
        pools = [[each.tolist() for each in pool] for pool in self.pools]
        folds = None if self.folds is None else self.folds.tolist()
        relevant = [list(map(int, each)) for each in self.relevant]
        text = json.dumps([list(self.queries), list(self.documents), relevant, pools, folds])
        return hashlib.sha256(text.encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Average precision and first rank; NaN for a query with a cosine that is not finite.

        NaN throughout if every document is as near as every other to each query: such an encoder has collapsed.
        """
        queries, documents = unit(embed(self.queries)), unit(embed(self.documents))
        found = np.full((len(self.queries), 2), np.nan, dtype=np.float32)
        collapsed = True
        for pool in self.pools:
            candidates = documents[pool.documents]
            for block in _blocks(pool.queries, CELLS // len(candidates)):
                cosines = _cosines(queries[block], candidates)
                collapsed &= not np.any(np.ptp(cosines, axis=1) > 0)
                for query, row in zip(block, cosines, strict=True):
                    found[query] = placed(row, np.searchsorted(pool.documents, np.asarray(self.relevant[query])))
        return found if not collapsed else np.full_like(found, np.nan)

    def outcome(self, items: Items) -> Outcome:
        """MAP, MRR and TOPk; None for each if one query could not be ranked."""
        detail: dict[str, float | None] = dict(_figures(items))
        if self.folds is not None:
            each = [_figures(items[self.folds == fold]) for fold in np.unique(self.folds)]
            detail |= {f"{name}.folds": _mean([one[name] for one in each]) for name in each[0]}
            detail |= {f"{name}/fold{number}": one[name] for number, one in enumerate(each, 1) for name in one}
        return Outcome(detail["map"], detail)

    def influence(self, items: Items) -> Influence:
        """Of each query on MAP."""
        return mean_influence(100 * items[:, 0].astype(np.float64))

    def clusters(self) -> Labels:
        """The groups."""
        return self.groups


def placed(scores: npt.NDArray[np.floating], relevant: Collection[int] | Numbers) -> tuple[float, float]:
    """Average precision, and rank of the first relevant document.

    scores: (N,), higher is better, equal ones in their order. relevant: places in it. NaN if a score is not finite.
    """
    if not np.isfinite(scores).all():
        return np.nan, np.nan
    ahead = [np.count_nonzero(scores > scores[own]) + np.count_nonzero(scores[:own] == scores[own]) for own in relevant]
    ranks = 1 + np.sort(ahead)
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)), float(ranks[0])


def unit(vectors: Vectors) -> Vectors:
    """Rows of length 1, (N, D); a zero vector stays what it is, one that is not finite becomes NaN."""
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        scaled: Vectors = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
    return scaled


def _cosines(queries: Vectors, documents: Vectors) -> Vectors:
    """(B, D) and (N, D) to (B, N), worked out in float64 and rounded once: equal vectors tie."""
    found = np.empty((len(queries), len(documents)), dtype=np.float32)
    left = queries.astype(np.float64)
    with np.errstate(invalid="ignore"):
        for start in range(0, len(documents), COLUMNS):
            found[:, start : start + COLUMNS] = left @ documents[start : start + COLUMNS].astype(np.float64).T
    return found


def _blocks(numbers: Numbers, size: int) -> Iterator[Numbers]:
    for start in range(0, len(numbers), max(1, size)):
        yield numbers[start : start + max(1, size)]


def _figures(items: Items) -> dict[str, float | None]:
    names = ("map", "mrr", *(f"top{k}" for k in TOP))
    if not np.isfinite(items).all():
        return dict.fromkeys(names)
    precision, first = items.astype(np.float64).T
    found = (precision, 1 / first, *(first <= k for k in TOP))
    return {name: 100 * float(np.mean(values)) for name, values in zip(names, found, strict=True)}


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None
