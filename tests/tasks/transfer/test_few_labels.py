"""Few labels: the same balanced, nested draws for every encoder, and accuracies that a loop gives, too."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from cseb.data.lines import ClassPairs
from cseb.embedders.word_vectors import random_words
from cseb.errors import BadBenchmark, BadData, CsebError
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_names, parse_tasks
from cseb.tasks.transfer.few_labels import DRAWS, FewLabels, FineTuned, drawn
from cseb.tasks.transfer.labelled import Examples, LabelledTexts
from cseb.tasks.transfer.schemes import LOGREG_RECIPE


def loaded(name: str) -> FewLabels:
    data = load_task(name, None)
    assert isinstance(data, FewLabels)
    return data


def test_every_draw_has_so_many_training_examples_of_each_class() -> None:
    few, more = loaded("shots2:banking77-dev"), loaded("shots8:banking77-dev")
    assert len(few.draws) == DRAWS
    for small, large in zip(few.draws, more.draws, strict=True):
        assert np.bincount(few.labels[small]).tolist() == [2] * 20
        assert np.bincount(more.labels[large]).tolist() == [8] * 20
        assert set(small) < set(large)
        assert not set(large) & set(more.test)
    assert len({tuple(sorted(draw)) for draw in few.draws}) == DRAWS
    assert len(few.test) == 800


def test_accuracy_is_the_mean_over_classifiers_trained_on_each_draw() -> None:
    data = loaded("shots4:banking77-dev")
    items = data.items(random_words)
    vectors = random_words([text for (text,) in data.texts])
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    accuracies = []
    for draw in data.draws:
        model = LogisticRegression(C=10, tol=1e-6, max_iter=10_000).fit(vectors[draw], data.labels[draw])
        accuracies.append(100 * (model.predict(vectors[data.test]) == data.labels[data.test]).mean())
    outcome = data.outcome(items)
    assert outcome.value == pytest.approx(np.mean(accuracies), abs=0.1)
    assert outcome.detail["accuracy.sd"] == pytest.approx(np.std(accuracies, ddof=1), abs=0.1)
    assert data.influence(items).sum() == pytest.approx(0, abs=1e-6)
    assert data.influence(np.array([[1, 0], [1, 1]], dtype=np.float32)).tolist() == [-25, 25]  # from 50, 100
    assert 0 < outcome.value < 100


def test_a_dev_part_is_neither_drawn_from_nor_scored() -> None:
    parts = tuple(
        Examples(tuple((f"{part}{number}",) for number in range(count)), (0, 1) * (count // 2))
        for part, count in (("train", 8), ("dev", 4), ("test", 6))
    )
    data = drawn("sst2", LabelledTexts(parts, 2, LOGREG_RECIPE), shots=2, draws=3)
    assert [data.texts[row] for row in data.test] == list(parts[2].texts)
    assert all(data.texts[row][0].startswith("train") for draw in data.draws for row in draw)


def test_equal_texts_of_the_test_part_are_one_cluster() -> None:
    texts = [(text,) for text in ("snow", "rain", "snow", "wind", "snow")]
    data = FewLabels(texts, np.array([0, 1, 0, 1, 0]), [], np.array([1, 2, 3, 4]))
    assert data.clusters().tolist() == [0, 1, 2, 1]


def test_an_encoder_that_knows_the_classes_needs_one_label() -> None:
    data = loaded("shots1:banking77-dev")
    label = {text: number for (text,), number in zip(data.texts, data.labels, strict=True)}

    def embed(texts: Sequence[str]) -> np.ndarray:
        return np.eye(20, dtype=np.float32)[[label[text] for text in texts]]

    assert data.outcome(data.items(embed)).value == 100
    assert data.outcome(data.items(lambda texts: np.full((len(texts), 2), np.nan, dtype=np.float32))).value is None


class Unchanged:
    """An encoder that notes how it is fine-tuned and stays as it is."""

    def __init__(self) -> None:
        self.calls: list[tuple[ClassPairs, float, int]] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        return random_words(texts)

    def tune(self, pairs: ClassPairs, rate: float, seed: int) -> "Unchanged":
        self.calls.append((pairs, rate, seed))
        return self


def test_setfit_fine_tunes_on_the_examples_of_each_draw_with_a_seed_of_its_own() -> None:
    few = loaded("shots2:banking77-dev")
    frozen = FewLabels(few.texts, few.labels, few.draws[:3], few.test[:50])
    data = FineTuned(few.texts, few.labels, few.draws[:3], few.test[:50], rate=1e-3, steps=2)
    encoder = Unchanged()
    assert np.array_equal(data.items(encoder), frozen.items(random_words))
    for number, (pairs, rate, seed) in enumerate(encoder.calls):
        assert (len(pairs.same), rate, seed) == (2 * 16, 1e-3, number)
        assert list(pairs.texts) == [few.texts[row][0] for row in few.draws[number]]
    orders = {tuple(pairs.left.tolist()) for pairs, _, _ in encoder.calls}
    assert len(orders) == len(data.draws)
    hashes = {each.sha256() for each in (data, replace(data, rate=1e-2), replace(data, steps=3), frozen)}
    assert len(hashes) == 4


def test_own_files_and_tasks_without_a_training_part_are_drawn_from_a_fifth(tmp_path: Path, labelled: Path) -> None:
    (path := tmp_path / "my.csv").write_text("text,label\n" + "".join(f"s{n},{'xy'[n % 2]}\n" for n in range(100)))
    own = loaded(f"shots2:{path}")
    assert parse_names(f"shots2:{path}") == ["shots2:my.csv"]
    assert len(own.test) == 80
    (task,) = parse_tasks("shots16:mr")
    assert (task.name, task.protocol) == ("shots16:mr", "few-labels(shots=16 draws=10)@1")
    data = task.load(labelled)
    assert len(data.test) == 8529 or len(data.test) == 8530
    assert data.sha256() != parse_tasks("shots8:mr")[0].load(labelled).sha256()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("shots11:banking77-dev", "shots11:banking77-dev: a class has 10 examples to draw from; use 10 or fewer"),
        ("shots2:snli", "snli has no classes; few labels need a task such as trec"),
    ],
)
def test_tasks_without_enough_examples_are_refused(name: str, message: str) -> None:
    with pytest.raises(BadData, match=message):
        load_task(name, None)
    with pytest.raises(BadBenchmark, match="begins with 'shots0:'"):
        parse_names("shots0:banking77")


@pytest.mark.parametrize("rate", ["1.2.3", ".", "1e"])
def test_a_rate_that_is_no_number_is_refused(rate: str) -> None:
    with pytest.raises(CsebError, match="write options such as"):
        parse_tasks(f"setfit2(rate={rate}):trec")
