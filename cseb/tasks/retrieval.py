"""Retrieval and reranking: documents are ranked by the cosine of their embedding with that of a query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.errors import BadData
from cseb.tasks.influence import Labels, connected, mean_influence
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors

TOP = (1, 3, 5)
LAST = -2.0  # below every cosine: what is ranked last changes no other rank
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
    judgement are irrelevant. groups: (Q,), clusters of dependent queries.

    The score is 100 x MAP: the mean over queries of average precision over the full ranking, no cut-off. `detail` holds
    `map`, `mrr`, and `top1`, `top3`, `top5`: the fraction of queries with a relevant document among the first k.
    Equal cosines are ranked by document number; a zero vector has cosine 0. A query is not ranked against itself, where
    its text is an irrelevant document.
    `items` are average precision and rank of the first relevant document of each query, (Q, 2). With `gains`, the
    relevance of each relevant document, there is a third column, nDCG@10, and `detail` contains `ndcg10`.

    Source: Tan et al. 2022, section 4.2 and table 2; Thakur et al. 2021 (BEIR) for nDCG@10 with linear gains.
    """

    queries: Sequence[str]
    documents: Sequence[str]
    relevant: Sequence[Sequence[int]]
    pools: Sequence[Pool]
    groups: Labels
    gains: Sequence[Sequence[float]] | None = None
    own: Mapping[int, int] = field(default_factory=dict)  # the document, by query, that is its text and not ranked

    def sentences(self) -> list[str]:
        return [*self.queries, *self.documents]

    def sha256(self) -> str:
        pools = [[each.tolist() for each in pool] for pool in self.pools]
        relevant = [list(map(int, each)) for each in self.relevant]
        graded = [self.gains] if self.gains and any(gain != 1 for gains in self.gains for gain in gains) else []
        own = [{"own": list(self.own.items())}] if self.own else []
        text = json.dumps([list(self.queries), list(self.documents), relevant, pools, None, *graded, *own])
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
                    if query in self.own:
                        row[np.searchsorted(pool.documents, self.own[query])] = LAST
                    ranks = ranks_of(row, np.searchsorted(pool.documents, np.asarray(self.relevant[query])))
                    results[query, :2] = placed(ranks)
                    if self.gains:
                        results[query, 2] = ndcg(ranks, np.asarray(self.gains[query], dtype=np.float64))
        return results if not collapsed else np.full_like(results, np.nan)

    def outcome(self, items: Items) -> Outcome:
        """Return MAP, MRR and TOPk; None for each if a query could not be ranked."""
        detail = _figures(items)
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


def faq(questions: Sequence[str], answers: Sequence[str], *, name: str) -> Ranked:
    """Return the task to retrieve the answer of each question among all answers.

    Equal answers are one document; equal questions are one query, and all of their answers are relevant.
    Questions joined by a chain of shared answers depend on each other. Raises: BadData.
    """
    documents = {text: number for number, text in enumerate(dict.fromkeys(answers))}
    by_question: dict[str, set[int]] = {}
    for question, answer in zip(questions, answers, strict=True):
        by_question.setdefault(question, set()).add(documents[answer])
    relevant = [sorted(numbers) for numbers in by_question.values()]
    groups = connected([tuple(map(str, numbers)) for numbers in relevant])
    return _ranked(list(by_question), list(documents), relevant, groups, name)


def judged(queries: Sequence[str], documents: Sequence[str], relevant: Sequence[Sequence[int]], name: str) -> Ranked:
    """Return the task of distinct queries and documents, and the numbers of the documents relevant to each query.

    Queries without relevant documents are left out. Those joined by a chain of shared relevant documents depend on each
    other. Raises: BadData.
    """
    kept = [number for number, documents_of_query in enumerate(relevant) if documents_of_query]
    if not kept:
        raise BadData(f"{name} has no query with a relevant document; at least one judgement above 0 is needed")
    numbers = [sorted(relevant[number]) for number in kept]
    groups = connected([tuple(map(str, each)) for each in numbers])
    return _ranked([queries[number] for number in kept], documents, numbers, groups, name)


def reranking(judgements: Mapping[str, Mapping[str, bool]], *, name: str) -> Ranked:
    """Return the task to rank the candidates of each query.

    judgements: By query, its candidates and their relevance. A query whose candidates are all relevant, or all
    irrelevant, is left out. Candidates are numbered by the hash of their text, so that the order of the judgements, in
    which relevant ones often come first, decides nothing where cosines are equal. Raises: BadData.
    """
    kept = {query: candidates for query, candidates in judgements.items() if len(set(candidates.values())) > 1}
    if not kept:
        raise BadData(f"{name} has no query with both a relevant and an irrelevant candidate; there is nothing to rank")
    every = {text for candidates in kept.values() for text in candidates}
    texts = sorted(every, key=lambda text: hashlib.sha256(text.encode()).digest())
    documents = {text: number for number, text in enumerate(texts)}
    pools, relevant = [], []
    for number, candidates in enumerate(kept.values()):
        pools.append(Pool(np.array([number]), np.sort([documents[text] for text in candidates])))
        relevant.append(sorted(documents[text] for text, good in candidates.items() if good))
    return Ranked(list(kept), list(documents), relevant, pools, np.arange(len(kept)))


def _ranked(
    queries: Sequence[str], documents: Sequence[str], relevant: Sequence[Sequence[int]], groups: Labels, name: str
) -> Ranked:
    if len(documents) < 2:
        raise BadData(f"{name} has too few distinct documents, {len(documents)}; ranking needs at least two")
    place = {text: number for number, text in enumerate(documents)}
    own = {number: place[query] for number, query in enumerate(queries) if query in place}
    own = {query: document for query, document in own.items() if document not in relevant[query]}
    pool = Pool(np.arange(len(queries)), np.arange(len(documents)))
    return Ranked(queries, documents, relevant, [pool], groups, own=own)
