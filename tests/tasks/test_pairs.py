"""Scoring rated pairs: cosines, correlations, and how subsets are put together."""

import json
import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cseb.tasks.pairs import Pairs, RatedPairs, correlation, row_cosine


def turned(cosines: Sequence[float]) -> npt.NDArray[np.float32]:
    """Vectors in the plane with these cosines to (1, 0)."""
    return np.array([[c, math.sqrt(1 - c * c)] for c in cosines], dtype=np.float32)


def embed_as(cosines: dict[str, float]):
    """Left sentences are (1, 0), right ones have the given cosine to it."""
    return lambda sentences: turned([cosines.get(sentence, 1.0) for sentence in sentences])


# Two subsets. Ranks of (0.1, 0.5, 0.9) against (1, 2, 3) agree; (0.2, 0.4, 0.6, 0.8) against (4, 3, 2, 1) are reversed.
YEAR = RatedPairs(
    (
        Pairs("news", ["l", "l", "l"], ["a", "b", "c"], [1, 2, 3]),
        Pairs("forum", ["l", "l", "l", "l"], ["d", "e", "f", "g"], [4, 3, 2, 1]),
    )
)
COSINES = {"a": 0.1, "b": 0.5, "c": 0.9, "d": 0.2, "e": 0.4, "f": 0.6, "g": 0.8}


def test_all_mean_and_wmean_are_what_one_works_out_by_hand() -> None:
    outcome = YEAR.outcome(YEAR.items(embed_as(COSINES)))
    detail = outcome.detail
    assert detail["spearman/news"] == pytest.approx(100)
    assert detail["spearman/forum"] == pytest.approx(-100)
    assert detail["spearman.mean"] == pytest.approx(0, abs=1e-9)
    assert detail["spearman.wmean"] == pytest.approx(100 * (3 - 4) / 7)
    # All seven: cosines rank 1 4 7 2 3 5 6; gold 1 2 3 4 3 2 1 ranks 1.5 3.5 5.5 7 5.5 3.5 1.5. Both sum to 28, mean 4.
    # Products: 7.5 + 0 + 4.5 - 6 - 1.5 - 0.5 - 5 = -1. Squares: 28, and 6.25 + .25 + 2.25 + 9 + 2.25 + .25 + 6.25.
    assert detail["spearman.all"] == pytest.approx(100 * -1 / math.sqrt(28 * 26.5))
    assert outcome.value == detail["spearman.all"]
    assert detail["pearson/news"] == pytest.approx(100)
    assert detail["pearson.wmean"] == pytest.approx(-100 / 7)
    assert set(detail) == {
        f"{name}{key}" for name in ("spearman", "pearson") for key in (".all", ".mean", ".wmean", "/news", "/forum")
    }
    json.dumps(detail)  # plain floats


def test_one_subset_has_no_figure_of_its_own() -> None:
    only = RatedPairs(YEAR.subsets[:1])
    detail = only.outcome(only.items(embed_as(COSINES))).detail
    assert set(detail) == {f"{name}.{way}" for name in ("spearman", "pearson") for way in ("all", "mean", "wmean")}
    assert detail["spearman.all"] == detail["spearman.mean"] == detail["spearman.wmean"]


def test_one_vector_that_is_not_finite_takes_the_score_away() -> None:
    outcome = YEAR.outcome(YEAR.items(embed_as(COSINES | {"a": math.nan})))
    assert outcome.value is None
    assert outcome.detail["spearman/news"] is None
    assert outcome.detail["spearman/forum"] == pytest.approx(-100)
    assert outcome.detail["spearman.mean"] is None  # not the mean of what is left


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.integers(0, 5)), min_size=2, max_size=40).filter(
        lambda rows: all(len(set(column)) > 1 for column in zip(*rows, strict=True))
    )
)
def test_ties_share_the_mean_of_their_ranks(rows: list[tuple[float, int]]) -> None:
    cosine, gold = np.array([row[0] for row in rows], dtype=np.float32), [float(row[1]) for row in rows]

    def rank(values: Sequence[float]) -> list[float]:
        return [sum(v < x for v in values) + (sum(v == x for v in values) + 1) / 2 for x in values]

    by_hand = np.corrcoef(rank(cosine.tolist()), rank(gold))[0, 1]
    assert correlation("spearman", cosine, gold) == pytest.approx(100 * by_hand, abs=1e-9)
    assert correlation("pearson", cosine, gold) == pytest.approx(100 * np.corrcoef(cosine, gold)[0, 1], abs=1e-9)


def test_equal_ratings_have_no_correlation() -> None:
    assert correlation("spearman", turned([0.1, 0.2])[:, 0], [3, 3]) is None
    assert correlation("spearman", turned([0.1])[:, 0], [3]) is None


def test_equal_vectors_have_a_cosine_of_exactly_one() -> None:
    rng = np.random.default_rng(0)
    vectors = (rng.standard_normal((500, 768)) * 10.0 ** rng.integers(-15, 15, (500, 1))).astype(np.float32)
    assert (row_cosine(vectors, vectors.copy()) == 1).all()


def test_a_cosine_is_the_dot_product_over_both_lengths() -> None:
    left, right = np.random.default_rng(1).standard_normal((2, 20, 5)).astype(np.float32)
    for row, cosine in enumerate(row_cosine(left, right)):
        a, b = left[row].astype(float), right[row].astype(float)
        assert cosine == pytest.approx(sum(a * b) / math.sqrt(sum(a * a) * sum(b * b)), abs=1e-7)
