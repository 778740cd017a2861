"""Result files of mteb and of the Hugging Face hub, read back by the code of their owners."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import ModelCard, parse_eval_result_entries

import cseb
from cseb.errors import BadBenchmark, BadResults, BadSpec
from cseb.exchange.result_files import hub_scores, write_eval_results, write_mteb
from cseb.records.record import Record, Score
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task
from tests.command_line import call
from tests.factory import record

mteb = pytest.importorskip("mteb")
pytestmark = pytest.mark.filterwarnings("ignore")  # of mteb and of the packages it loads


def score(task: str, protocol: str, value: float | None, **detail: float | None) -> Score:
    return Score(task=task, protocol=protocol, select="best", value=value, detail=detail, items=1)


def scored(*more: Score, version: str = mteb.__version__) -> Record:
    """Return a record with tasks of mteb and others."""
    run = record(values=(50.0, 60.0, None))
    scores = (
        *run.scores,
        score("mteb:Banking77Classification@1", "mteb-classification@1", 61.25, **{"accuracy/test/default": 61.25}),
        score(
            *("mteb:MassiveIntentClassification@1", "mteb-classification@1", 45.0),
            **{"accuracy/test/en": 40.0, "accuracy/test/de": 50.0},
        ),
        *more,
    )
    origin = replace(run.origin, versions={**run.origin.versions, "mteb": version})
    return run.model_copy(update={"scores": scores, "origin": origin})


def test_mteb_loads_the_scores_of_its_tasks(tmp_path: Path) -> None:
    run = scored()
    left_out = write_mteb(run, tmp_path, "me/my-encoder")
    assert [line.partition(":")[0] for line in left_out] == ["sts12@1", "sts13@1", "sickr@1"]
    assert "its protocol simcse-sts@1 is not that of mteb; score mteb:NAME instead" in left_out[0]
    (model,) = mteb.ResultCache(tmp_path).load_results(include_remote=False).model_results
    assert (model.model_name, model.model_revision) == ("me/my-encoder", run.key)
    scores = {result.task_name: result for result in model.task_results}
    assert scores["Banking77Classification"].get_score() == pytest.approx(0.6125, abs=1e-6)
    massive = scores["MassiveIntentClassification"]
    assert massive.get_score(languages=["deu"]) == pytest.approx(0.5)
    assert massive.get_score() == pytest.approx(0.45)
    assert massive.dataset_revision == mteb.get_task("MassiveIntentClassification").metadata.revision
    assert (massive.mteb_version, massive.kg_co2_emissions) == (mteb.__version__, None)
    meta = json.loads((tmp_path / "results" / "me__my-encoder" / run.key / "model_meta.json").read_text())
    assert (meta["name"], meta["similarity_fn_name"]) == ("me/my-encoder", "cosine")


def test_mteb_loads_the_score_that_cseb_eval_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The data are made here, since there may be no network."""
    from datasets import Dataset, DatasetDict

    texts = ["pay my card" if number % 2 else "where is the nearest branch" for number in range(60)]
    labels = [number % 2 if number % 7 else 0 for number in range(60)]
    columns = Dataset.from_dict({"text": texts, "label": labels})

    def load_data(self: Any, **_: object) -> None:
        self.dataset, self.data_loaded = DatasetDict({"train": columns, "test": columns}), True

    monkeypatch.setattr(type(mteb.get_task("Banking77Classification")), "load_data", load_data)
    load_task.cache_clear()
    name = "mteb:Banking77Classification"
    scores = cseb.evaluate("cseb-tiny", tasks=name, results=tmp_path / "results")
    load_task.cache_clear()
    assert cseb.export("all", tmp_path / "results", format="mteb", to=tmp_path / "cache").left_out == ()
    (model,) = mteb.ResultCache(tmp_path / "cache").load_results(include_remote=False).model_results
    assert 100 * model.task_results[0].get_score() == pytest.approx(scores[name], abs=1e-3)
    assert scores[name] > 80


def test_a_score_of_another_version_of_mteb_is_left_out(tmp_path: Path) -> None:
    with pytest.raises(BadResults, match=r"scored with mteb 1\.0\.0, and .* is installed; pip install mteb==1\.0\.0"):
        write_mteb(scored(version="1.0.0"), tmp_path)


def test_a_name_of_a_model_has_an_owner(tmp_path: Path) -> None:
    for name in ("small", "../../x", "a/b/c", "a/b@c"):
        with pytest.raises(BadSpec, match="OWNER/NAME is needed"):
            write_mteb(scored(), tmp_path, name)


def test_eval_results_are_read_back_by_the_hub_s_own_code(tmp_path: Path) -> None:
    run = scored(score("snli@1", "pairs@1", 70.0), score("stsb-dev@1", "simcse-sts@1", 55.5))
    left_out = write_eval_results(run, tmp_path)
    entries = parse_eval_result_entries(
        yaml.safe_load((tmp_path / ".eval_results" / f"cseb-{run.key}.yaml").read_text("utf-8"))
    )
    results = {entry.task_id: (entry.dataset_id, entry.value) for entry in entries}
    assert results == {
        "sts12": ("princeton-nlp/datasets-for-simcse", 50.0),
        "sts13": ("princeton-nlp/datasets-for-simcse", 60.0),
        "stsb-dev": ("princeton-nlp/datasets-for-simcse", 55.5),
        "Banking77Classification_default_test": ("mteb/banking77", 61.25),
        "MassiveIntentClassification_en_test": ("mteb/amazon_massive_intent", 40.0),
        "MassiveIntentClassification_de_test": ("mteb/amazon_massive_intent", 50.0),
    }
    assert all(entry.date == run.origin.finished for entry in entries)
    assert set(left_out) == {"snli: its data set is not on the hub", "sickr@1: the encoder has collapsed"}


def test_scores_name_metric_configuration_and_split_of_their_data() -> None:
    run = scored(score("stsb-dev@1", "simcse-sts@1", 55.5), score("mr-fast@1", "senteval-fast@1", 70.0))
    places = {each.task: (each.metric, each.config, each.split) for each in hub_scores(run)}
    assert places["sts12"] == ("cosine_spearman", "sts12", "test")
    assert places["stsb-dev"] == ("cosine_spearman", "stsb", "validation")
    assert places["mr-fast"] == ("senteval-fast", "mr", None)
    assert places["MassiveIntentClassification_de_test"] == ("accuracy", "de", "test")


def test_the_command_writes_both_formats_without_a_model(tmp_path: Path) -> None:
    store, run = Store(tmp_path / "results"), scored()
    store.prepare()
    store.write(run, {})
    for form in ("mteb", "eval-results"):
        given = ["export", run.key, "--results", str(store.folder), "--format", form, "--to", str(tmp_path / "to")]
        outcome = call(*given)
        assert outcome.exit_code == 0, outcome.output
        assert "left out: sickr@1" in outcome.stdout
        assert call(*given).stdout == outcome.stdout  # a second time replaces the files
    assert (tmp_path / "to" / "results" / f"cseb__{run.key}" / run.key / "Banking77Classification.json").is_file()
    card = cseb.export(run.key, store.folder).card
    types = {result.dataset_type for result in ModelCard(card).data.eval_results or []}
    assert types == {"princeton-nlp/datasets-for-simcse", "mteb/banking77", "mteb/amazon_massive_intent"}


def test_what_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    store.prepare()
    store.write(record(), {})
    key = record().key
    with pytest.raises(BadBenchmark, match="writes result files into a folder; give `to`"):
        cseb.export(key, store.folder, format="mteb")
    with pytest.raises(BadBenchmark, match="`name` is about mteb's files"):
        cseb.export(key, store.folder, name="me/x")
    with pytest.raises(BadResults, match=f"nothing of the record {key} can be written: sts12@1: its protocol"):
        cseb.export(key, store.folder, format="mteb", to=tmp_path / "to")
    (tmp_path / "file").write_text("")
    with pytest.raises(BadResults, match="cannot be written"):
        cseb.export(key, store.folder, format="eval-results", to=tmp_path / "file")
