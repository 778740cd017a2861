"""Ranking: the check case worked out by hand, loops, ties, pools, and what each query moves."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from cseb.errors import BadData
from cseb.tasks import retrieval
from cseb.tasks.retrieval import Pool, Ranked, faq, judged, ndcg, placed, ranks_of, reranking


def embed(sentences: Sequence[str]) -> np.ndarray:
    """Each text has a direction of its own, drawn from its letters."""
    rows = [np.random.default_rng(list(text.encode())).standard_normal(8) for text in sentences]
    return np.array(rows, dtype=np.float32)


def test_figures_are_what_one_works_out_by_hand() -> None:
    numbers = np.arange(3)
    data = Ranked(["q"] * 3, ["d"] * 4, [[0], [2], [0, 2]], [], numbers)
    items = np.array([[1, 1], [0.5, 2], [5 / 12, 3]], dtype=np.float32)
    outcome = data.outcome(items)
    detail = outcome.detail
    assert outcome.value == detail["map"] == pytest.approx(100 * 23 / 36)
    assert detail["mrr"] == pytest.approx(100 * (1 + 1 / 2 + 1 / 3) / 3)
    assert (detail["top1"], detail["top3"], detail["top5"]) == (pytest.approx(100 / 3), 100, 100)
    assert data.influence(items) == pytest.approx(100 * np.array([13 / 36, -5 / 36, -8 / 36]), abs=1e-5)


def test_ndcg_is_that_of_scikit_learn_with_graded_relevance() -> None:
    from sklearn.metrics import ndcg_score

    rng = np.random.default_rng(3)
    for _ in range(20):
        scores, relevance = rng.permutation(30).astype(float), rng.integers(0, 4, 30)
        relevance[0] = 1
        relevant = np.flatnonzero(relevance)
        expected = ndcg_score(relevance[None], scores[None], k=10)
        assert ndcg(ranks_of(scores, relevant), relevance[relevant].astype(float)) == pytest.approx(expected)


def test_ndcg_counts_ten_ranks_and_none_of_an_unranked_query() -> None:
    assert ndcg(np.array([11.0]), np.array([1.0])) == 0
    assert math.isnan(ndcg(np.array([math.nan]), np.array([1.0])))


def test_ranking_equals_a_loop_over_queries_and_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retrieval, "CELLS", 60)  # blocks of two queries, three lots of documents
    monkeypatch.setattr(retrieval, "COLUMNS", 11)
    rng = np.random.default_rng(0)
    queries, documents = [f"q{n}" for n in range(15)], [f"d{n}" for n in range(30)]
    relevant = [sorted(rng.choice(30, size=rng.integers(1, 6), replace=False).tolist()) for _ in queries]
    data = judged(queries, documents, relevant, "x")
    items = data.items(embed)
    assert items.shape == (15, 2)
    for query, own, (precision, first) in zip(queries, relevant, items, strict=True):
        q = embed([query])[0].astype(float)
        cosine = {}
        for number, document in enumerate(documents):
            d = embed([document])[0].astype(float)
            cosine[number] = sum(q * d) / math.sqrt(sum(q * q) * sum(d * d))
        ranking = sorted(cosine, key=lambda number: -cosine[number])
        hits, total = 0, 0.0
        for rank, number in enumerate(ranking, 1):
            if number in own:
                hits += 1
                total += hits / rank
        assert precision == pytest.approx(total / len(own), abs=1e-6)
        assert first == 1 + min(ranking.index(number) for number in own)


def test_ties_are_ranked_by_the_number_of_the_document() -> None:
    assert placed(ranks_of(np.ones(3), [2])) == (pytest.approx(1 / 3), 3)
    assert placed(ranks_of(np.ones(3), [0])) == (1, 1)
    assert placed(ranks_of(np.array([0.5, 0.9, 0.5, 0.5]), [2])) == (pytest.approx(1 / 3), 3)


def test_equal_vectors_tie_wherever_they_stand() -> None:
    rng = np.random.default_rng(2)
    first, documents = rng.standard_normal(768).astype(np.float32), rng.standard_normal((1001, 768)).astype(np.float32)
    documents[::7] = first
    table = {f"d{n}": row for n, row in enumerate(documents)} | {"q": first}
    data = Ranked(["q"], list(table)[:-1], [[1000 // 7 * 7]], [Pool(np.arange(1), np.arange(1001))], np.arange(1))
    assert data.items(lambda texts: np.array([table[text] for text in texts])).tolist()[0][1] == 1000 // 7 + 1


def test_a_zero_vector_is_as_far_as_a_right_angle() -> None:
    table = {"q": [1, 0], "near": [1, 1], "zero": [0, 0], "far": [-1, 1]}
    data = Ranked(["q"], ["far", "zero", "near"], [[1]], [Pool(np.arange(1), np.arange(3))], np.arange(1))
    assert data.items(lambda texts: np.array([table[t] for t in texts], dtype=np.float32)).tolist() == [[0.5, 2]]


def test_one_query_that_cannot_be_ranked_takes_the_score_away() -> None:
    data = faq([f"q{n}" for n in range(6)], [f"a{n}" for n in range(6)], name="x")
    items = data.items(lambda texts: embed(texts) * np.array([[np.nan if text == "q3" else 1] for text in texts]))
    assert np.isnan(items).all(axis=1).tolist() == [number == 3 for number in range(6)]
    assert set(data.outcome(items).detail.values()) == {None}


def test_equal_answers_are_one_document_and_equal_questions_one_query() -> None:
    data = faq(["p", "q", "p", "r", "s"], ["x", "x", "y", "z", "u"], name="x")
    assert (data.queries, data.documents) == (["p", "q", "r", "s"], ["x", "y", "z", "u"])
    assert data.relevant == [[0, 1], [0], [2], [3]]
    assert data.groups.tolist() == [0, 0, 1, 2]  # p and q share an answer


def test_a_query_without_a_relevant_document_is_left_out() -> None:
    data = judged(["a", "b", "c"], ["x", "y"], [[0], [], [1]], "x")
    assert data.queries == ["a", "c"]
    with pytest.raises(BadData, match="no query with a relevant document"):
        judged(["a"], ["x", "y"], [[]], "x")


def test_reranking_ranks_given_candidates_only() -> None:
    data = reranking(
        {"q": {"a": True, "b": False, "c": False}, "r": {"c": True, "d": False}, "s": {"a": True}}, name="x"
    )
    assert (data.queries, sorted(data.documents)) == (["q", "r"], ["a", "b", "c", "d"])  # s has nothing to rank
    table = {"q": [1, 0], "r": [0, 1], "a": [1, 1], "b": [1, 0], "c": [0, 1], "d": [1, 2]}
    items = data.items(lambda texts: np.array([table[t] for t in texts], dtype=np.float32))
    assert items.tolist() == [[0.5, 2], [1, 1]]
    assert data.outcome(items).value == 75
    with pytest.raises(BadData, match="nothing to rank"):
        reranking({"s": {"a": True}}, name="x")


def test_the_order_of_candidates_decides_nothing_where_cosines_are_equal() -> None:
    """Files often list relevant candidates first, which gave 100 where every cosine is 0."""
    rows = {f"q{n}": {f"good {n}": True, **{f"bad {n} {m}": False for m in range(3)}} for n in range(200)}
    reverse = {query: dict(reversed(candidates.items())) for query, candidates in rows.items()}
    scores = []
    for judgements in (rows, reverse):
        data = reranking(judgements, name="x")
        places = [np.searchsorted(pool.documents, own) for pool, own in zip(data.pools, data.relevant, strict=True)]
        scores.append(float(np.mean([1 / ranks_of(np.zeros(4), place)[0] for place in places])))
    assert scores[0] == scores[1] == pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4, abs=0.06)


def test_a_query_is_not_ranked_against_itself() -> None:
    """Paraphrases in both directions: each text is a query and a document."""
    data = faq(["a", "b", "c", "d"], ["b", "a", "d", "c"], name="x")
    table = {"a": [1, 0], "b": [1, 0.1], "c": [0, 1], "d": [0.1, 1]}
    items = data.items(lambda texts: np.array([table[t] for t in texts], dtype=np.float32))
    assert data.outcome(items).value == 100
    assert data.own == {0: 1, 1: 0, 2: 3, 3: 2}
    assert replace(data, own={}).sha256() != data.sha256()
    assert data.outcome(replace(data, own={}).items(lambda texts: np.array([table[t] for t in texts]))).value == 50
    copy = faq(["a", "b"], ["a", "c"], name="x")  # a text that is its own answer stays
    assert not copy.own


def test_queries_that_share_a_relevant_document_depend_on_each_other() -> None:
    data = judged(["a", "b", "c"], ["x", "y", "z"], [[0, 1], [1], [2]], "x")
    assert data.groups.tolist() == [0, 0, 1]


def test_the_hash_is_of_texts_and_judgements() -> None:
    base = faq(["p", "q"], ["x", "y"], name="x")
    for other in (faq(["p", "q"], ["y", "x"], name="x"), faq(["p", "r"], ["x", "y"], name="x")):
        assert other.sha256() != base.sha256()
    assert faq(["p", "q"], ["x", "y"], name="z").sha256() == base.sha256()
