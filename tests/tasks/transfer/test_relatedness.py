"""Supervised relatedness: the figures of the reference, and grades whose mean is the rating."""

import numpy as np
import pytest

from cseb.registry import TASK_GROUPS
from cseb.tasks import pairs
from cseb.tasks.names import parse_tasks
from cseb.tasks.pairs import Pairs
from cseb.tasks.transfer import relatedness
from cseb.tasks.transfer.relatedness import RatedSplits, expected, fit, grades

from .conftest import SHARED, hashed_words, real


def test_fit_has_the_figures_of_the_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference's RelatednessPytorch (SentEval/senteval/tools/relatedness.py) was run on the same arrays."""
    looks = []

    def correlation(*told: object) -> float | None:
        looks.append(pairs.correlation(*told))
        return looks[-1]

    monkeypatch.setattr(relatedness, "correlation", correlation)
    rng = np.random.RandomState(6)
    x = rng.standard_normal((220, 6)).astype(np.float32)
    mean = 2.5 + x @ rng.standard_normal(6) * 0.6
    y = np.round(np.clip(mean + rng.standard_normal(220) * 0.7, 0, 5), 1)
    weights, dev = fit(x[:120], grades(y[:120]), x[120:160], y[120:160])
    assert dev == pytest.approx(85.50644857, abs=1e-6)
    assert len(looks) == 850 / 50  # the passes after which the reference stops
    test = y[160:]
    error = ((expected(x[160:], weights) - test) ** 2).mean()
    assert error == pytest.approx(0.80019914, abs=1e-6)
    assert np.corrcoef(expected(x[160:], weights), test)[0, 1] == pytest.approx(0.85788789, abs=1e-6)


def test_grades_share_a_rating_and_lack_what_lies_below_one() -> None:
    assert grades([3.2, 5, 1, 0.25, 0]) == pytest.approx(
        np.array([[0, 0, 0.8, 0.2, 0], [0, 0, 0, 0, 1], [1, 0, 0, 0, 0], [0.25, 0, 0, 0, 0], [0] * 5]), abs=1e-6
    )
    assert grades([2.6]) @ np.arange(1, 6) == pytest.approx([2.6])


def splits() -> tuple[RatedSplits, np.ndarray]:
    rng = np.random.RandomState(1)
    vectors = rng.standard_normal((160, 4)).astype(np.float32)
    cosine = (vectors[::2] * vectors[1::2]).sum(1) / np.linalg.norm(vectors[::2], axis=1)
    gold = np.clip(2.5 + cosine, 1, 5).tolist()
    names = [str(i) for i in range(160)]
    parts = [
        Pairs(name, names[2 * a : 2 * b : 2], names[2 * a + 1 : 2 * b : 2], gold[a:b])
        for name, a, b in (("train", 0, 40), ("dev", 40, 60), ("test", 60, 80))
    ]
    return RatedSplits(*parts), vectors


def test_figures_follow_from_items_alone() -> None:
    task, vectors = splits()
    items = task.items(lambda sentences: vectors[[int(sentence) for sentence in sentences]])
    outcome = task.outcome(items)
    assert items.shape == (20, 2)
    assert outcome.value == outcome.detail["spearman"]
    assert outcome.detail["mse"] == pytest.approx(((items[:, 0] - np.array(task.test.gold)) ** 2).mean(), abs=1e-6)
    assert outcome.detail["dev"] == pytest.approx(float(items[0, 1]))
    assert task.influence(items).sum() == pytest.approx(0, abs=1e-6)
    assert task.clusters().tolist() == list(range(20))
    assert outcome.value > 50  # the product of the vectors is a feature


def test_vectors_that_say_nothing_have_no_score() -> None:
    task, _ = splits()
    for value in (1.0, np.nan):
        items = task.items(lambda sentences, value=value: np.full((len(sentences), 3), value, dtype=np.float32))
        assert task.outcome(items).value is None
        assert np.isnan(task.influence(items)).all()


@real
@pytest.mark.parametrize(
    ("name", "sizes"), [("stsb-finetune", (5749, 1500, 1379)), ("sickr-finetune", (4500, 500, 4927))]
)
def test_real_files_have_the_rows_of_the_protocol(name: str, sizes: tuple[int, ...]) -> None:
    task = parse_tasks(name)[0]
    loaded = task.load(SHARED)
    assert tuple(len(part.gold) for part in (loaded.train, loaded.dev, loaded.test)) == sizes
    assert task.protocol == "senteval-relatedness@1"
    tokens = [(len(a.split()), len(b.split()), g) for a, b, g in zip(*astuple(loaded.train), strict=True)]
    assert tokens == sorted(tokens)


def astuple(part: Pairs) -> tuple[object, ...]:
    return part.left, part.right, part.gold


def test_every_name_is_that_of_its_task() -> None:
    assert tuple(task.name for task in parse_tasks("relatedness")) == TASK_GROUPS["relatedness"]


@real
@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [
        ("sickr-finetune", 64, {"spearman": 58.03236, "pearson": 61.87075, "mse": 0.63081, "dev": 62.19054}),
        pytest.param(
            "stsb-finetune", 16, {"spearman": 41.12267, "pearson": 41.56430, "mse": 2.16097}, marks=pytest.mark.slow
        ),
    ],
)
def test_real_data_give_the_figures_of_the_reference(name: str, width: int, expected: dict[str, float]) -> None:
    """The reference's tasks of these names, files and order included, were run on these embeddings."""
    task = parse_tasks(name)[0].load(SHARED)
    detail = task.outcome(task.items(lambda sentences: hashed_words(sentences, width))).detail
    assert {figure: detail[figure] for figure in expected} == pytest.approx(expected, abs=5e-3)
