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
from cseb.records.store import Store
from cseb.registry import METHODS
from cseb.training.build import check
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


# Options of a table that are for its encoder, or need models from the hub, and what a small encoder has in their place.
FITTING = {
    "compcse-table6": (("192", "16"), ("256", "21"), ("384", "32"), ("768", "64")),
    "informin-table7": ((r",steps=\d+", ""),),
    "msse-table6-batch": ((r",steps=\d+", ""),),
    "msse-table3": ((r"\+recipe\([^)]*\)", ""),),
    "rcl-table5": ((r"\+recipe\([^)]*\)", ""),),
}


def miniature(name: str, folder: Path) -> Benchmark:
    """The table with encoder, corpus, tasks and scale of the demo; methods that learn from labels get triples."""
    table, demo = benchmarks.load(name), benchmarks.load("demo")
    methods, corpus = table.methods, demo.corpus
    for typed, fitting in FITTING.get(name, ()):
        methods = re.sub(typed, fitting, methods)
    if any({"labels", "generated"} & {*method.at(1.0).data_seen()} for method in parse_methods(methods)):
        corpus = str(folder / "triples.txt")
        (folder / "triples.txt").write_text("\n".join(triples(5000)))
    taken = {field: getattr(demo, field) for field in ("encoder", "tasks", "dev", "scale", "per_method", "steps")}
    return table.model_copy(update={**taken, "methods": methods, "corpus": corpus, "column": ""})


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


FIRST = {name.partition("-")[0]: name for name in reversed(TABLES)}.values()  # one of each paper


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in FIRST else pytest.mark.slow) for name in TABLES]
)
def test_a_table_runs_in_miniature(name: str, tmp_path: Path, store: Store) -> None:
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
    record = run_job(job, store, lambda progress: None)
    assert (record.status, record.benchmark) == ("done", name)
    assert store.read(job.key) == record
