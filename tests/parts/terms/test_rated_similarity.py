"""Terms of rated pairs, their equations in loops; the view that reads the ratings; what is refused."""

import math

import pytest

from cseb.errors import BadData
from cseb.methods.grammar import parse_method
from cseb.parts.labelled_views import RatedPairs
from cseb.parts.terms.margins import RankScores, ScoreMSE, angle_scores, rank_cost
from cseb.training.batches import Feed
from cseb.training.build import build
from tests.parts.terms.two_views import cosine, doubles, step
from tests.training.small_runs import Tiny

U = [[0.9, 0.1, -0.3, 0.2], [-0.2, 0.8, 0.5, -0.1], [0.4, -0.6, 0.7, 0.3], [1.0, 0.0, 0.2, -0.4]]
V = [[0.8, 0.2, -0.1, 0.4], [0.6, -0.3, 0.2, 0.3], [0.5, -0.4, 0.9, -0.2], [-0.7, 0.3, 0.1, 0.2]]
RATINGS = [4.0, 1.5, 5.0, 1.5]
LINES = [f"a man is eating {thing}\tthe dog is playing\t{score}" for thing, score in
         (("pizza", 4), ("food", 1.5), ("guitar", 0), ("park", 5))]  # fmt: skip


def by_hand(scores: list[float], ratings: list[float], scale: float) -> float:
    pairs = [(i, j) for i in range(len(scores)) for j in range(len(scores)) if ratings[i] < ratings[j]]
    return math.log(1 + sum(math.exp(scale * (scores[i] - scores[j])) for i, j in pairs))


def complex_angle(u: list[float], v: list[float]) -> float:
    """|sum of real and imaginary parts of the quotient of unit numbers, coordinate by coordinate|."""
    half = len(u) // 2
    total = sum(
        (complex(u[k], u[half + k]) * complex(v[k], v[half + k]).conjugate()).real
        + (complex(u[k], u[half + k]) * complex(v[k], v[half + k]).conjugate()).imag
        for k in range(half)
    )
    return abs(total / math.hypot(*u) / math.hypot(*v))


@pytest.mark.parametrize(
    ("similarity", "scale", "loss"),
    [("cosine", 20.0, 1.918736273412), ("cosine", 1.0, 1.091742064382), ("angle", 20.0, 12.918476408154)],
)  # fmt: skip
def test_ranks_cost_what_the_sum_over_pairs_of_pairs_says(similarity: str, scale: float, loss: float) -> None:
    scores = RankScores(scale, similarity).pair_scores(doubles(U), doubles(V))
    value = rank_cost(scores, doubles(RATINGS), scale).item()
    assert value == pytest.approx(loss, abs=1e-8)
    assert value == pytest.approx(by_hand(scores.tolist(), RATINGS, scale), abs=1e-10)


def test_angles_are_quotients_of_complex_numbers() -> None:
    expected = [complex_angle(u, v) for u, v in zip(U, V, strict=True)]
    assert angle_scores(doubles(U), doubles(V)).tolist() == pytest.approx(expected, abs=1e-12)
    assert expected == pytest.approx([0.778980837705, 0.216691591395, 0.645553109154, 1.288122377439], abs=1e-8)
    swapped = angle_scores(doubles(V), doubles(U))
    assert swapped.tolist() == pytest.approx([1.112829768149, 0.568815427412, 1.070259102019, 0.460043706228], abs=1e-8)
    assert angle_scores(doubles(U), doubles(U)).tolist() == pytest.approx([1.0] * 4)
    symmetric = RankScores(20.0, "symmetric_angle")
    assert symmetric.pair_scores(doubles(U), doubles(V)).equal(symmetric.pair_scores(doubles(V), doubles(U)))


@pytest.mark.parametrize("similarity", ["cosine", "angle", "symmetric_angle"])
def test_the_similarity_of_a_zero_vector_is_0_and_its_slope_finite(similarity: str) -> None:
    left, right = (doubles(rows).requires_grad_() for rows in ([*U[:3], [0.0] * 4], [[0.0] * 4, *V[1:]]))
    scores = RankScores(20.0, similarity).pair_scores(left, right)
    assert scores[[0, 3]].tolist() == [0.0, 0.0]
    rank_cost(scores, doubles(RATINGS), 20.0).backward()
    assert left.grad.isfinite().all() and right.grad.isfinite().all()


def test_only_the_order_of_ratings_counts_and_a_shift_of_all_scores_does_not() -> None:
    scores = doubles([0.9, -0.4, 0.8, -0.9])
    once = rank_cost(scores, doubles(RATINGS), 20.0)
    assert rank_cost(scores, doubles([2.0, 1.0, 9.0, 1.0]), 20.0) == once
    assert rank_cost(scores + 3, doubles(RATINGS), 20.0).item() == pytest.approx(once.item())
    assert rank_cost(scores, doubles([1.0] * 4), 20.0).item() == 0.0
    assert rank_cost(doubles([0.9, -0.9, 0.99, -0.9]), doubles([2.0, 1.0, 3.0, 1.0]), 200.0).item() < 1e-6


def test_ratings_stand_beside_their_pairs_in_every_batch(tiny: Tiny) -> None:
    method = parse_method("cosent+recipe(steps=6,warmup=0,batch_size=2)").at(1.0)
    built = build(method, tiny("bert"), 0)
    ratings = [float(line.split("\t")[2]) for line in LINES]
    for batch in Feed(built.views, built.encoder, built.recipe, LINES, 0, built.encoder.device):
        assert batch.scores.tolist() == [ratings[row] for row in batch.rows]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a\tb\tgood"], "a rated pair ends in 'good', which is no number of at most a million: 'a\\\\tb\\\\tgood'"),
        (["a\tb\tnan"], "a rated pair ends in 'nan'"),
        (["a\tb"], "lines that are not rated pairs .*: 1 of 1"),
        (["a\t\t3"], "lines that are not rated pairs"),
    ],
)
def test_other_lines_are_refused(lines: list[str], message: str) -> None:
    with pytest.raises(BadData, match=message):
        RatedPairs()(lines)


def test_rating_and_cosine_on_one_scale() -> None:
    loss = ScoreMSE(1.0, 5.0)(step(U, V, scores=doubles(RATINGS))).item()
    expected = sum((cosine(u, v) - (rating - 1) / 4) ** 2 for u, v, rating in zip(U, V, RATINGS, strict=True)) / 4
    assert loss == pytest.approx(expected, abs=1e-12)
