"""A record told, found by the beginning of its key, and run again."""

import json
import shutil
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

from cseb.commands.rerun import compared, job_of, method_of, rerun
from cseb.data.corpus import read_corpus
from cseb.errors import BadResults
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.job import Job
from cseb.experiment.origin import origin
from cseb.experiment.plan import plan
from cseb.methods.grammar import parse_method
from cseb.records.differences import conditions, differences
from cseb.records.method_text import read_method
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.registry import METHODS
from tests.command_line import call, printed
from tests.factory import record
from tests.world import WORLD


def by_method(folder: Path, name: str) -> Record:
    return next(run for run in Store(folder).load()[0] if run.method.startswith(name))


@pytest.mark.parametrize("name", list(METHODS))
def test_every_method_reads_back_from_its_resolved_text(name: str) -> None:
    method = parse_method(name).at(0.01)
    run = record(name, resolved=method.resolved())
    assert method_of(run).resolved() == method.resolved()
    assert method_of(run).terms == method.terms


def test_the_job_of_a_record_is_the_one_that_made_it(ran: Path) -> None:
    planned = {job.key: job for job in plan(benchmarks.load(str(ran / "benchmark-world.yaml")))}
    for run in Store(ran).load()[0]:
        job = job_of(run, "", "")
        assert job.key == run.key
        assert job.recipe == planned[run.key].recipe
        assert job.folder == planned[run.key].folder


def test_a_rerun_gives_the_same_bits(ran: Path) -> None:
    key = by_method(ran, "simcse").key
    result = printed("show", key[:8], "--rerun", "--results", ran)
    assert result.splitlines()[-1] == f"{key}: scores and items equal to the last bit"


def test_a_rerun_of_a_record_that_was_changed_leaves_1(ran: Path, tmp_path: Path) -> None:
    shutil.copytree(ran, tmp_path / "results")
    key = by_method(ran, "cls").key
    path = tmp_path / "results/runs" / f"{key}.json"
    content = json.loads(path.read_bytes())
    content["scores"][0]["value"] += 0.25
    content["origin"]["versions"]["torch"] = "1.0"
    path.write_text(json.dumps(content))
    result = call("show", path, "--rerun")
    assert result.exit_code == 1
    assert "BAD toy-captions@1 best: " in result.output
    assert "torch " in result.output
    assert f"{key}: scores and items not equal" in result.output


@pytest.mark.parametrize(("version", "code"), [("1.0", 0), ("", 1)])
def test_other_conditions_allow_a_small_difference(ran: Path, tmp_path: Path, version: str, code: int) -> None:
    shutil.copytree(ran, tmp_path / "results")
    key = by_method(ran, "cls").key
    path = tmp_path / "results/runs" / f"{key}.json"
    content = json.loads(path.read_bytes())
    content["scores"][0]["value"] += 0.01
    here = origin("cpu", "fp32", datetime.now(UTC)).versions  # with libraries that other tests have imported meanwhile
    content["origin"]["versions"] = here | {"torch": version or here["torch"]}
    path.write_text(json.dumps(content))
    result = call("show", path, "--rerun")
    assert result.exit_code == code, result.output
    assert ("every score is within 0.1" in result.output) == (code == 0)


@pytest.mark.parametrize("deterministic", [True, False])
def test_a_gpu_promises_bits_if_deterministic(ran: Path, monkeypatch: pytest.MonkeyPatch, deterministic: bool) -> None:
    recorded = by_method(ran, "cls")
    protocol = replace(recorded.protocol, device="cuda")
    made = replace(recorded.origin, deterministic=deterministic)
    key = replace(job_of(recorded, "", ""), protocol=protocol, deterministic=deterministic).key
    recorded = recorded.model_copy(update={"key": key, "protocol": protocol, "origin": made})
    asked: list[bool] = []

    def run_job(job: Job, *_: object) -> Record:
        asked.append(job.deterministic)
        first, *others = recorded.scores
        return recorded.model_copy(update={"scores": (replace(first, value=(first.value or 0.0) + 0.01), *others)})

    monkeypatch.setattr("cseb.experiment.run_job.run_job", run_job)
    monkeypatch.setattr("cseb.records.store.find", lambda *_: (Store(ran), recorded))
    monkeypatch.setattr("cseb.records.store.Store.read_items", lambda *_: {})
    result = rerun(recorded.key, ran)
    assert asked == [deterministic]
    assert (result.promised, result.passed) == (deterministic, not deterministic)


def test_what_has_changed_since_is_said(ran: Path) -> None:
    run = by_method(ran, "cls")
    with pytest.raises(BadResults, match="cannot be rerun: made with cls@7, now cls@1"):
        text = run.resolved.replace("cls()@1", "cls()@7")
        job_of(run.model_copy(update={"resolved": text, "parts": read_method(text)}), "", "")
    with pytest.raises(BadResults, match=r"distributed training \(2 processes\)"):
        job_of(run.model_copy(update={"protocol": replace(run.protocol, processes=2)}), "", "")
    with pytest.raises(BadResults, match="is inconsistent with its key"):
        job_of(run.model_copy(update={"seed": 5}), "", "")


def test_a_file_that_a_method_reads_is_named_and_has_to_be_the_same(tmp_path: Path) -> None:
    pairs, results = tmp_path / "pairs.tsv", tmp_path / "results"
    sentences = read_corpus("wikipedia:100", "").take(range(100))
    pairs.write_text("".join(f"{sentence}\t{sentence}\n" for sentence in sentences))
    method = f"simcse+paraphrase(file='{pairs}')+recipe(steps=1,warmup=0,batch_size=4)"
    options = ("--corpus", "wikipedia:100", "--sizes", 8, "--seeds", 1, "--tasks", "toy-captions", "--dev", "none",
               "--workers", 1)  # fmt: skip
    printed("run", WORLD, "--methods", method, "--results", results, *options)
    (run,) = Store(results).load()[0]
    assert [source.name for source in run.outside] == [str(pairs)]
    assert f"{pairs}, sha256 {run.outside[0].sha256}" in call("show", run.key, "--results", results).output
    assert job_of(run, "", "").key == run.key
    pairs.write_text(pairs.read_text() + "more\tof it\n")
    again = call("show", run.key, "--rerun", "--results", results)
    assert again.exit_code == 2 and "pairs.tsv has changed: sha256 " in again.stderr


def test_how_far_items_are_apart() -> None:
    run = record()
    before = np.array([0.5, 0.25, np.nan], dtype=np.float32)
    after = np.array([0.5, 0.375, np.nan], dtype=np.float32)
    assert compared(run, run, {"a": before}, {"a": before}) == []
    assert compared(run, run, {"a": after}, {"a": before}) == [("items a", "1 of 3 differ, by 0.125 at most")]
    assert compared(run, run, {"a": after}, None) == []
    assert compared(run, run, {"a": before}, {"a": before[:2]}) == [("items a", "shapes differ")]
    assert compared(run, run, {}, {"a": before}) == [("items a", "shapes differ")]


def test_scores_training_and_conditions_are_compared() -> None:
    again, before = record(values=(50.5, 60.0, 70.0), torch="2.8.0"), record()
    changed = "50.5, in the record 50.0"
    assert dict(compared(again, before, {}, {})) == {"sts12@1 best": changed, "sts12@1 last": changed}
    assert list(differences(again, before, conditions)) == [("torch", "2.8.0", "2.7.0")]
    fewer = record(tasks=("sts12@1",), values=(50.0,))
    assert ("sts13@1 best", "none, in the record 60.0") in compared(fewer, before, {}, {})
    assert ("sts13@1 best", "60.0, in the record none") in compared(before, fewer, {}, {})


def test_show_tells_the_origin_of_a_record_and_still_shows_methods(ran: Path) -> None:
    run = by_method(ran, "simcse")
    told = printed("show", run.key, "--results", ran)
    for fact in (run.encoder.sha256, run.corpus.sha256, run.subset.sha256, run.protocol.data, run.origin.started):
        assert fact in told
    assert "best on toy-dev@1 (200 labelled items), and last" in told
    assert f"{run.scores[0].value:.4f}" in told
    assert "torch " in told
    assert call("show", "ct").exit_code == 0
