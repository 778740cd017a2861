"""Ranking tasks from questions and answers: relevance, candidates and folds."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np

from cseb.errors import BadData
from cseb.tasks.influence import Labels, connected, deal
from cseb.tasks.retrieval import Pool, Ranked


def faq(questions: Sequence[str], answers: Sequence[str], *, name: str, folds: int = 5) -> Ranked:
    """Return the task to retrieve the answer of each question among all answers.

    Equal answers are one document; equal questions are one query, and all of their answers are relevant.
    Questions joined by a chain of shared answers are in one fold. Raises: BadData.
    """
    documents = {text: number for number, text in enumerate(dict.fromkeys(answers))}
    by_question: dict[str, set[int]] = {}
    for question, answer in zip(questions, answers, strict=True):
        by_question.setdefault(question, set()).add(documents[answer])
    relevant = [sorted(numbers) for numbers in by_question.values()]
    groups = connected([tuple(map(str, numbers)) for numbers in relevant])
    return _ranked(list(by_question), list(documents), relevant, groups, name=name, folds=folds)


def judged(
    queries: Sequence[tuple[str, Hashable]],
    documents: Sequence[str],
    relevant: Sequence[Sequence[int]],
    *,
    name: str,
    folds: int = 5,
) -> Ranked:
    """Return the task of queries with their template, documents, and the numbers of those relevant to each query.

    Equal documents are merged; queries of one template are in one fold; those without relevant documents are left out.
    Raises: BadData.
    """
    merged = {text: number for number, text in enumerate(dict.fromkeys(documents))}
    kept = [number for number, documents_of_query in enumerate(relevant) if documents_of_query]
    if not kept:
        raise BadData(f"{name} has no query with a relevant document; at least one judgement above 0 is needed")
    numbers = [sorted({merged[documents[document]] for document in relevant[number]}) for number in kept]
    groups = connected([(repr(queries[number][1]),) for number in kept])
    texts = [queries[number][0] for number in kept]
    return _ranked(texts, list(merged), numbers, groups, name=name, folds=folds)


def reranking(judgements: Mapping[str, Mapping[str, bool]], *, name: str) -> Ranked:
    """Return the task to rank the candidates of each query.

    judgements: By query, its candidates and their relevance. A query whose candidates are all relevant, or all
    irrelevant, is left out. Raises: BadData.
    """
    kept = {query: candidates for query, candidates in judgements.items() if len(set(candidates.values())) > 1}
    if not kept:
        raise BadData(f"{name} has no query with both a relevant and an irrelevant candidate; there is nothing to rank")
    texts = dict.fromkeys(text for candidates in kept.values() for text in candidates)
    documents = {text: number for number, text in enumerate(texts)}
    pools, relevant = [], []
    for number, candidates in enumerate(kept.values()):
        pools.append(Pool(np.array([number]), np.sort([documents[text] for text in candidates])))
        relevant.append(sorted(documents[text] for text, good in candidates.items() if good))
    return Ranked(list(kept), list(documents), relevant, pools, np.arange(len(kept)))


def _ranked(
    queries: Sequence[str],
    documents: Sequence[str],
    relevant: Sequence[Sequence[int]],
    groups: Labels,
    *,
    name: str,
    folds: int,
) -> Ranked:
    if len(documents) < 2:
        raise BadData(f"{name} has too few distinct documents, {len(documents)}; ranking needs at least two")
    fold = deal(groups, np.zeros(len(queries), dtype=np.int64), folds, name)
    pool = Pool(np.arange(len(queries)), np.arange(len(documents)))
    return Ranked(queries, documents, relevant, [pool], groups, fold)
