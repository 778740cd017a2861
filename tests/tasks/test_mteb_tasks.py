"""Tasks of mteb with our encoder; their data are made here, as there may be no network."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cseb.embedders import find
from cseb.embedders.interface import EncoderOptions
from cseb.errors import BadData, BadSpec, UnknownName
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_names, parse_tasks
from cseb.tasks.task import Vectors

pytest.importorskip("mteb")
pytestmark = pytest.mark.filterwarnings("ignore")  # of the library and of those it loads

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
Data = Callable[[str, dict[str, dict[str, list[Any]]]], None]


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Data:
    """Gives a task of the library columns by split in place of what it would fetch."""

    def give(name: str, splits: dict[str, dict[str, list[Any]]]) -> None:
        import mteb
        from datasets import Dataset, DatasetDict

        def load_data(self: Any, **_: object) -> None:
            self.dataset = DatasetDict({split: Dataset.from_dict(columns) for split, columns in splits.items()})
            self.data_loaded = True

        monkeypatch.setattr(type(mteb.get_task(name)), "load_data", load_data)

    load_task.cache_clear()
    yield give
    load_task.cache_clear()


def lengths(sentences: Sequence[str]) -> Vectors:
    return np.array([[len(sentence), 1] for sentence in sentences], dtype=np.float32)


def points(name: str, embed: Callable[[Sequence[str]], Vectors]) -> tuple[float | None, dict[str, float | None], int]:
    ((outcome, items),) = score_all([(parse_tasks(name)[0], load_task(name, None))], embed)
    return outcome.value, outcome.detail, len(items)


def test_a_classification_task_has_the_figure_of_the_library(data: Data) -> None:
    texts = ["a" * (3 + 30 * (number % 2)) for number in range(60)]
    labels = [number % 2 for number in range(60)]
    wrong = [1 - label if number < 10 else label for number, label in enumerate(labels)]
    name = "mteb:Banking77Classification"
    data(
        "Banking77Classification", {"train": {"text": texts, "label": labels}, "test": {"text": texts, "label": wrong}}
    )
    assert parse_tasks(name)[0].protocol == "mteb-classification@1"
    value, detail, items = points(name, lengths)
    assert value == pytest.approx(100 * 50 / 60, abs=1e-3)  # ten labels are wrong, the lengths tell all
    assert (detail, items) == ({"accuracy/test/default": value}, 1)


@pytest.mark.parametrize("source", ["toy", "real"])
def test_our_stsb_is_that_of_the_library_on_the_same_texts(source: str, data: Data) -> None:
    folder = SHARED / "senteval"
    if source == "real" and not (folder / "STS").is_dir():
        pytest.skip("needs the task files beside the repository")
    ours = load_task("stsb" if source == "real" else "toy-captions", folder)
    (pairs,) = ours.subsets
    columns = {"sentence1": list(pairs.left), "sentence2": list(pairs.right), "score": list(pairs.gold)}
    embed = find("cseb-tiny", EncoderOptions(pooler="mean")).open()
    ((outcome, _),) = score_all([(parse_tasks("stsb")[0], ours)], embed)
    data("STSBenchmark", {"test": columns})
    value, _, _ = points("mteb:STSBenchmark", embed)
    assert outcome.value == pytest.approx(value, abs=1e-4)


def test_two_tasks_differ_in_data_by_name_and_subset(data: Data) -> None:
    data("MassiveIntentClassification", {})
    first, second = (load_task(f"mteb:MassiveIntentClassification/{subset}", None) for subset in ("en", "de"))
    assert first.sha256() != second.sha256()
    assert first.outcome(np.array([0.5], dtype=np.float32)).detail == {"accuracy/test/en": 50.0}
    assert np.isnan(first.influence(np.array([0.5], dtype=np.float32))).all()
    assert first.outcome(np.array([np.nan], dtype=np.float32)).value is None


def test_other_data_under_the_same_name_are_other_data(data: Data) -> None:
    """Without a network the library takes any revision that lies in its cache."""
    columns: dict[str, list[Any]] = {"sentence1": ["a", "b"], "sentence2": ["a", "c"], "score": [5.0, 1.0]}
    results = []
    for score in (5.0, 4.0, 5.0):
        load_task.cache_clear()
        data("STSBenchmark", {"test": columns | {"score": [score, 1.0]}})
        results.append(load_task("mteb:STSBenchmark", None).sha256())
    assert results[0] == results[2] != results[1]


def test_an_unknown_name_is_answered() -> None:
    with pytest.raises(BadSpec, match="is called ''; `mteb available-tasks` lists them"):
        parse_tasks("mteb:")[0].load(None)
    with pytest.raises(BadSpec, match="no task of mteb is called 'Banking77Clasification'; Did you mean: 'Banking77"):
        parse_tasks("mteb:Banking77Clasification")[0].load(None)
    with pytest.raises(
        UnknownName, match="no subset of mteb:MassiveIntentClassification is called 'eng'; did you mean"
    ):
        parse_tasks("mteb:MassiveIntentClassification/eng")[0].load(None)


def test_data_that_cannot_be_had_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import mteb

    def load_data(self: Any, **_: object) -> None:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(type(mteb.get_task("Banking77Classification")), "load_data", load_data)
    with pytest.raises(BadData, match=r"its data mteb/banking77 cannot be read \(no route\)"):
        parse_tasks("mteb:Banking77Classification")[0].load(None)


def test_a_library_that_stumbles_is_one_line(data: Data) -> None:
    data("Banking77Classification", {"test": {"text": ["a"], "label": [1]}})
    with pytest.raises(BadData, match="mteb:Banking77Classification: mteb fails: "):
        points("mteb:Banking77Classification", lengths)


def test_the_five_tasks_of_msse_are_a_group() -> None:
    import mteb

    names = parse_names("mteb-msse")
    assert len(names) == 5
    for name in names:
        bare, _, subset = name.removeprefix("mteb:").partition("/")
        assert subset in ("", *mteb.get_task(bare).hf_subsets)
