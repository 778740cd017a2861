"""Retrieval and reranking: documents are ranked by the cosine of their embedding with that of a query."""

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
CELLS = 2**22  # similarities in memory at a time: 16 MB
COLUMNS = 2**13  # documents converted to float64 at a time

Numbers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


class Pool(NamedTuple):
    """Queries and the documents ranked for each of them: increasing numbers."""

    queries: Numbers
    documents: Numbers


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Queries, documents and their relevance.

    relevant: for each query the numbers of its relevant documents, one or more, all in its pool; documents without a
    judgement are irrelevant. groups: (Q,), clusters of dependent queries. folds: (Q,) from 0, or None.

    The score is 100 x MAP: the mean over queries of average precision over the full ranking, no cut-off. `detail` holds
    `map`, `mrr`, and `top1`, `top3`, `top5`: the fraction of queries with a relevant document among the first k. With
    folds it also contains each score inside a fold (`map/fold1`) and their mean (`map.folds`), as reported in papers
    that train on the other folds. Equal cosines are ranked by document number; a zero vector has cosine 0.
    `items` are average precision and rank of the first relevant document of each query, (Q, 2). With `gains`, the
    relevance of each relevant document, there is a third column, nDCG@10, and `detail` contains `ndcg10`.

    Source: Tan et al. 2022, section 4.2 and table 2; Thakur et al. 2021 (BEIR) for nDCG@10 with linear gains.
    """

    queries: Sequence[str]
    documents: Sequence[str]
    relevant: Sequence[Sequence[int]]
    pools: Sequence[Pool]
    groups: Labels
    folds: Labels | None = None
    gains: Sequence[Sequence[float]] | None = None

    def sentences(self) -> list[str]:
        return [*self.queries, *self.documents]

    def sha256(self) -> str:
        pools = [[each.tolist() for each in pool] for pool in self.pools]
        folds = None if self.folds is None else self.folds.tolist()
        relevant = [list(map(int, each)) for each in self.relevant]
        graded = [self.gains] if self.gains and any(gain != 1 for gains in self.gains for gain in gains) else []
        text = json.dumps([list(self.queries), list(self.documents), relevant, pools, folds, *graded])
        return hashlib.sha256(text.encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Return average precision, first rank and nDCG@10; NaN for a query with a cosine that is not finite.

        NaN throughout if all documents have the same cosine with each query: the encoder has collapsed.
        """
        queries, documents = unit(embed(self.queries)), unit(embed(self.documents))
        results = np.full((len(self.queries), 3 if self.gains else 2), np.nan, dtype=np.float32)
        collapsed = True
        for pool in self.pools:
            candidates = documents[pool.documents]
            for block in _blocks(pool.queries, CELLS // len(candidates)):
                cosines = _cosines(queries[block], candidates)
                collapsed &= not np.any(np.ptp(cosines, axis=1) > 0)
                for query, row in zip(block, cosines, strict=True):
                    ranks = ranks_of(row, np.searchsorted(pool.documents, np.asarray(self.relevant[query])))
                    results[query, :2] = placed(ranks)
                    if self.gains:
                        results[query, 2] = ndcg(ranks, np.asarray(self.gains[query], dtype=np.float64))
        return results if not collapsed else np.full_like(results, np.nan)

    def outcome(self, items: Items) -> Outcome:
        """Return MAP, MRR and TOPk; None for each if a query could not be ranked."""
        detail: dict[str, float | None] = dict(_figures(items))
        if self.folds is not None:
            folds = [_figures(items[self.folds == fold]) for fold in np.unique(self.folds)]
            detail |= {f"{name}.folds": _mean([fold[name] for fold in folds]) for name in folds[0]}
            detail |= {f"{name}/fold{number}": fold[name] for number, fold in enumerate(folds, 1) for name in fold}
        return Outcome(detail["map"], detail)

    def influence(self, items: Items) -> Influence:
        return mean_influence(100 * items[:, 0].astype(np.float64))

    def clusters(self) -> Labels:
        return self.groups


def ranks_of(scores: npt.NDArray[np.floating], relevant: Collection[int] | Numbers) -> Floats:
    """Return the rank of each relevant document, from 1: (R,); NaN if a score is not finite.

    scores: (N,), higher is better, equal scores keep their order. relevant: indices into it.
    """
    if not np.isfinite(scores).all():
        return np.full(len(relevant), np.nan)
    ahead = [np.count_nonzero(scores > scores[own]) + np.count_nonzero(scores[:own] == scores[own]) for own in relevant]
    return 1 + np.array(ahead, dtype=np.float64)


def placed(ranks: Floats) -> tuple[float, float]:
    """Return average precision and rank of the first relevant document, from the ranks (R,) of all of them."""
    ranks = np.sort(ranks)
    return float(np.mean(np.arange(1, len(ranks) + 1) / ranks)), float(ranks[0])


def ndcg(ranks: Floats, gains: Floats, depth: int = 10) -> float:
    """Return the normalised discounted cumulative gain of the first `depth` ranks; NaN if a rank is."""
    best = np.sort(gains)[::-1][:depth]
    ideal = (best / np.log2(np.arange(2, len(best) + 2))).sum()
    reached = np.where(ranks > depth, 0, gains / np.log2(ranks + 1))
    return float(reached.sum() / ideal)


def unit(vectors: Vectors) -> Vectors:
    """Return rows of length 1, (N, D); a zero vector stays zero, one that is not finite becomes NaN."""
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
        scaled: Vectors = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
    return scaled


def _cosines(queries: Vectors, documents: Vectors) -> Vectors:
    """Return cosines (B, N) of (B, D) and (N, D), computed in float64 and rounded once, so that equal vectors tie."""
    cosines = np.empty((len(queries), len(documents)), dtype=np.float32)
    left = queries.astype(np.float64)
    with np.errstate(invalid="ignore"):
        for start in range(0, len(documents), COLUMNS):
            cosines[:, start : start + COLUMNS] = left @ documents[start : start + COLUMNS].astype(np.float64).T
    return cosines


def _blocks(numbers: Numbers, size: int) -> Iterator[Numbers]:
    for start in range(0, len(numbers), max(1, size)):
        yield numbers[start : start + max(1, size)]


def _figures(items: Items) -> dict[str, float | None]:
    names = ("map", "mrr", *(f"top{k}" for k in TOP), *(["ndcg10"] if items.shape[1] > 2 else []))
    if not np.isfinite(items).all():
        return dict.fromkeys(names)
    precision, first, *gains = items.astype(np.float64).T
    columns = (precision, 1 / first, *(first <= k for k in TOP), *gains)
    return {name: 100 * float(np.mean(values)) for name, values in zip(names, columns, strict=True)}


def _mean(values: Sequence[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return float(np.mean(defined)) if len(defined) == len(values) else None
