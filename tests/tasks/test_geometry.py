"""Geometry: values known by hand, loops over all pairs, and figures and influences that follow from the items."""

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from cseb.errors import BadData
from cseb.registry import TASK_GROUPS, TASKS
from cseb.tasks.geometry import MEASURES, Shape, shape
from cseb.tasks.names import parse_tasks
from cseb.tasks.pairs import Pairs, RatedPairs
from cseb.tasks.task import SCALES, scale_of

SHARED = Path(__file__).parents[2].parent / "shared" / "data" / "senteval"
NAMES = ("alignment", "uniformity", "anisotropy", "effective-rank")


def figure(measure: str, left: Sequence[Sequence[float]], right: Sequence[Sequence[float]]) -> float | None:
    vectors = np.array([*left, *right], dtype=np.float32)
    stored = Shape(measure, [f"l{n}" for n in range(len(left))], [f"r{n}" for n in range(len(left))])
    return stored.outcome(stored.items(lambda _: vectors)).value


def cloud(n: int = 40, width: int = 6) -> np.ndarray:
    rng = np.random.default_rng(0)
    vectors = (rng.standard_normal((n, width)) * [3, 2, 1, 1, 1, 0.2][:width] + 0.5).astype(np.float32)
    vectors[7] = vectors[3]  # a duplicate stays in
    return vectors


def by_hand(measure: str, vectors: np.ndarray) -> float:
    units = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    n = len(units)
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    if measure == "alignment":
        return float(np.mean([sum((units[i] - units[i + n // 2]) ** 2) for i in range(n // 2)]))
    if measure == "uniformity":
        return math.log(np.mean([math.exp(-2 * sum((units[i] - units[j]) ** 2)) for i, j in pairs]))
    if measure == "anisotropy":
        return float(np.mean([units[i] @ units[j] for i, j in pairs]))
    values = np.linalg.svd(units, compute_uv=False)
    shares = values / values.sum()
    return math.exp(-sum(p * math.log(p) for p in shares if p > 1e-12))


@pytest.mark.parametrize("width", [2, 6])
@pytest.mark.parametrize("measure", NAMES)
def test_figures_equal_sums_over_all_pairs(measure: str, width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cseb.tasks.geometry.BLOCK", 7)
    vectors = cloud(width=width)
    assert figure(measure, vectors[:20], vectors[20:]) == pytest.approx(by_hand(measure, vectors), rel=1e-5)


def test_more_dimensions_than_sentences_and_lost_ones() -> None:
    wide = np.random.default_rng(1).standard_normal((10, 50)).astype(np.float32)
    assert figure("effective-rank", wide[:5], wide[5:]) == pytest.approx(by_hand("effective-rank", wide), rel=1e-5)
    flat = np.zeros((10, 50), dtype=np.float32)
    flat[np.arange(10), np.arange(10) % 3] = 1  # three directions, the rest is rounding
    assert figure("effective-rank", flat[:5], flat[5:]) == pytest.approx(by_hand("effective-rank", flat), rel=1e-6)


@pytest.mark.parametrize("measure", NAMES)
def test_influence_is_what_a_little_more_of_one_item_does(measure: str) -> None:
    """Each item is given the weight 1 + h, and the figure of the weighted sample is worked out anew."""
    vectors = cloud(24)
    units = vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)
    n = 12 if measure == "alignment" else 24
    stored = Shape(measure, [""] * 12, [""] * 12)
    gram = units @ units.T

    def weighted(weights: np.ndarray) -> float:
        if measure == "alignment":
            return float(np.average(2 - 2 * np.diag(gram[:12, 12:]), weights=weights))
        if measure == "effective-rank":
            values = np.linalg.svd(units * np.sqrt(weights)[:, None], compute_uv=False)
            shares = values / values.sum()
            return math.exp(-float(np.sum(shares * np.log(shares))))
        cells = np.exp(4 * gram - 4) if measure == "uniformity" else gram
        others = ~np.eye(n, dtype=bool)
        # Hajek: a U-statistic in which each pair counts as often as its two sentences
        both = np.outer(weights, weights)[others]
        mean = float(np.sum(cells[others] * both) / both.sum())
        return math.log(mean) if measure == "uniformity" else mean

    moves = stored.influence(stored.items(lambda _: vectors))
    assert moves.sum() == pytest.approx(0, abs=1e-4)
    h = 1e-5
    each = [(weighted(np.ones(n) + h * row) - weighted(np.ones(n) - h * row)) / (2 * h) for row in np.eye(n)]
    slack = 2.0 / n if measure in ("uniformity", "anisotropy") else 1e-3  # sentences are not paired with themselves
    assert moves == pytest.approx(n * np.array(each), rel=slack, abs=slack * np.abs(moves).max())


@pytest.mark.parametrize("measure", NAMES)
@pytest.mark.parametrize("bad", [math.nan, math.inf, 0.0])
def test_a_vector_without_a_direction_has_no_figure(measure: str, bad: float) -> None:
    vectors = cloud()
    vectors[4] = bad
    stored = Shape(measure, [""] * 20, [""] * 20)
    items = stored.items(lambda _: vectors)
    assert stored.outcome(items).value is None
    assert np.isnan(stored.influence(items)).all()


@pytest.mark.parametrize(("measure", "value"), list(zip(NAMES, (0, 0, 1, 1), strict=True)))
def test_a_collapsed_encoder_is_seen_as_one(measure: str, value: float) -> None:
    assert figure(measure, [[1, 2, 3]] * 5, [[1, 2, 3]] * 5) == pytest.approx(value, abs=1e-5)


RATED = RatedPairs((Pairs("x", ["a", "b", "c", "a"], ["d", "e", "f", "g"], [5, 4, 4.2, 0]),))


def test_positive_pairs_are_rated_above_four_and_not_four() -> None:
    positive, all_of_them = shape("alignment", RATED, 4.0, "x"), shape("uniformity", RATED, 4.0, "x")
    assert (positive.left, positive.right) == (["a", "c"], ["d", "f"])
    assert all_of_them.sentences() == ["a", "b", "c", "a", "d", "e", "f", "g"]
    assert all_of_them.clusters().tolist() == [0, 1, 2, 0, 0, 1, 2, 0]
    assert positive.clusters().tolist() == [0, 1]
    with pytest.raises(BadData, match=r"no pair rated above 5 \(highest: 5\); choose a lower above="):
        shape("alignment", RATED, 5.0, "x")


def test_four_columns_that_no_average_may_mix() -> None:
    assert list(TASK_GROUPS["geometry"]) == list(MEASURES) == list(NAMES)
    tasks = parse_tasks("geometry")
    assert [task.name for task in tasks] == list(TASK_GROUPS["geometry"])
    assert len({task.protocol for task in tasks}) == 4
    assert [scale_of(task.protocol) for task in tasks] == list(SCALES.values())
    assert [text.rpartition(", ")[2] for text in SCALES.values()] == ["lower is better"] * 3 + ["higher is better"]
    assert scale_of(TASKS["stsb"].protocol) == ""


def test_the_variant_stands_in_protocol_and_detail(senteval: Path) -> None:
    [task] = parse_tasks("alignment")
    assert task.protocol == "alignment(of=stsb-dev above=4)@1"
    stored = task.load(senteval)
    assert len(stored.sentences()) == 2 * 300  # every fifth of 1500 made-up scores is 4.5
    spread = parse_tasks("uniformity")[0].load(senteval)
    assert len(spread.sentences()) == 3000
    outcome = stored.outcome(np.zeros(300, dtype=np.float32))
    assert outcome.detail == {"alignment": 2.0, "pairs": 300.0, "sentences": 600.0}


@pytest.mark.skipif(not (SHARED / "STS").is_dir(), reason="needs the task files beside the repository")
def test_the_real_development_set_has_208_positive_pairs_and_3000_sentences() -> None:
    positive, spread = (task.load(SHARED) for task in parse_tasks("alignment,uniformity"))
    assert (len(positive.left), len(spread.sentences())) == (208, 3000)
    assert len(set(spread.sentences())) == 2909  # and yet all are counted
