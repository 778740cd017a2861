"""The tables of the papers: every one loads, and every one runs in miniature, its triples included."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cseb.data import shipped
from cseb.data.corpus import Corpus, read_corpus
from cseb.experiment import benchmark as benchmarks
from cseb.experiment import plan as planning
from cseb.experiment import run_job as running
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.experiment.run_job import run_job
from cseb.methods.grammar import parse_methods
from cseb.registry import METHODS
from cseb.training.build import check
from tests.factory import stored
from tests.world import triples

TABLES = [name for name in shipped.benchmark_names() if "-table" in name or "-figure" in name]

_READ = read_corpus


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "read_corpus", _read)
    monkeypatch.setattr(running, "read_corpus", _read)


@cache
def _read(name: str, column: str, data_dir: Path | None) -> Corpus:
    return _READ(name, column, data_dir)


def miniature(name: str, folder: Path) -> Benchmark:
    """The table on the demo; methods that learn from labels get triples."""
    (folder / "triples.txt").write_text("\n".join(triples(5000)))
    stage = benchmarks.load("demo").model_copy(update={"triples": str(folder / "triples.txt")})
    return benchmarks.moved(benchmarks.load(name), stage)


def distinct(jobs: list[Job]) -> Iterator[Job]:
    """One job for every method as it is trained at some share."""
    seen: set[str] = set()
    for job in jobs:
        if job.method.resolved() not in seen:
            seen.add(job.method.resolved())
            yield job


def test_every_paper_has_its_tables() -> None:
    assert {name.partition("-")[0] for name in TABLES} == {"micse", "msse", "informin", "compcse", "rcl"}
    assert len(TABLES) >= 26


MISSING = re.compile(r"for want of a method: ([^.;]*)")
OTHERS = re.compile(r"(?:other|more) rows: --methods ([a-z0-9,-]+)")


@pytest.mark.parametrize("name", TABLES)
def test_a_table_states_its_grid(name: str) -> None:
    table = benchmarks.load(name)
    assert all(method.name in METHODS for method in parse_methods(table.methods))
    assert (table.scale, table.steps, table.data_dir) == ("", None, "")
    assert table.seeds in (1, 5)
    assert table.notes
    missing, others = MISSING.search(table.notes), OTHERS.search(table.notes)
    methods = {method.replace("-", "") for method in METHODS}
    assert not missing or not methods & {each.strip().lower().replace("-", "") for each in missing[1].split(",")}
    assert not others or parse_methods(others[1])
    if table.elsewhere:  # the same rows, or those that need no network
        assert len(parse_methods(table.elsewhere)) >= len(parse_methods(table.methods)) - 1


FIRST = {name.partition("-")[0]: name for name in reversed(TABLES)}.values()  # one of each paper


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in TABLES]
)
def test_a_table_runs_in_miniature(name: str, tmp_path: Path) -> None:
    """Every row fits the embedded encoder at every share; the last one of the smallest batch is trained and scored."""
    small = miniature(name, tmp_path)
    jobs = plan(benchmarks.override(small, seeds=1))
    for job in distinct(jobs):
        check(job.method, Path(job.folder), sentences=job.size)
    if "triples" in small.corpus:
        (tmp_path / "some.txt").write_text("\n".join(triples(128)))
        small = benchmarks.override(small, corpus=str(tmp_path / "some.txt"))
    elif small.fractions == (1.0,):
        small = benchmarks.override(small, corpus="wikipedia:600")
    quick = benchmarks.override(small, seeds=1, steps=2, tasks="toy-captions", dev="none")
    jobs = plan(quick.model_copy(update={"scale": f"{quick.scale}, entropy_models(steps=1)"}))
    job = min(reversed([job for job in jobs if job.size == jobs[0].size]), key=lambda job: job.recipe.batch_size)
    store = stored(tmp_path / "results")
    record = run_job(job, store, lambda progress: None)
    assert (record.status, record.benchmark) == ("done", f"{name}-on-demo")
    assert store.read(job.key) == record


def test_sizes_of_another_encoder_stay_behind_when_a_grid_moves(tmp_path: Path) -> None:
    table = benchmarks.load("compcse-table6")
    small = miniature("compcse-table6", tmp_path)
    assert small.methods == table.elsewhere
    assert (small.elsewhere, small.corpus) == ("", "wikipedia")
    again = benchmarks.moved(small, benchmarks.load("few-shot"))
    assert again.methods == small.methods


def test_methods_that_learn_from_labels_get_triples() -> None:
    table, demo, few_shot = (benchmarks.load(name) for name in ("rcl-table3", "demo", "few-shot"))
    assert benchmarks.moved(table, demo.model_copy(update={"triples": "mine.txt"})).corpus == "mine.txt"
    assert benchmarks.moved(table, few_shot).corpus == table.corpus
