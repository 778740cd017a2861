"""The tables of the papers: every one loads, and every one runs in miniature, its triples included."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cseb.commands.describe import show
from cseb.data import generated, shipped
from cseb.data.corpus import Corpus
from cseb.data.read_corpus import read_corpus
from cseb.errors import BadData
from cseb.experiment import benchmark as benchmarks
from cseb.experiment import plan as planning
from cseb.experiment import run_job as running
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.experiment.run_job import run_job
from cseb.methods.grammar import parse_methods
from cseb.microworld import triples
from cseb.microworld.tasks import all_sentences
from cseb.records.store import Store
from cseb.registry import METHODS
from cseb.training.build import check

TABLES = [name for name in shipped.benchmark_names() if "-table" in name or "-figure" in name]
TRIPLES = "a18e4fe838ef0b2249cd4abb337f169a7d7ee8be829fb2a8be27d754adcf008b"

_READ = read_corpus


@pytest.fixture(autouse=True)
def read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "read_corpus", _read)
    monkeypatch.setattr(running, "read_corpus", _read)


@cache
def _read(name: str, column: str, data_dir: Path | None) -> Corpus:
    return _READ(name, column, data_dir)


def miniature(name: str) -> Benchmark:
    return benchmarks.moved(benchmarks.load(name), benchmarks.load("microworld"))


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
    known = {one.replace("-", "") for one in METHODS}
    assert not missing or not known & {one.strip().lower().replace("-", "") for one in missing[1].split(",")}
    assert not others or parse_methods(others[1])
    if table.elsewhere:  # the same rows, or those that need no network
        assert len(parse_methods(table.elsewhere)) >= len(parse_methods(table.methods)) - 1


@pytest.mark.parametrize("name", TABLES)
def test_a_table_runs_in_miniature(name: str, tmp_path: Path) -> None:
    """Every row fits the embedded encoder at every share; the last one of the smallest batch is trained and scored."""
    small = miniature(name)
    jobs = plan(benchmarks.override(small, seeds=1))
    for job in distinct(jobs):
        check(job.method, Path(job.folder), sentences=job.size)
    if "triples" in small.corpus:
        small = benchmarks.override(small, corpus="microworld:triples:128")
    elif small.fractions == (1.0,):
        small = benchmarks.override(small, corpus="microworld:600")
    quick = benchmarks.override(small, seeds=1, steps=2, tasks="mw-captions", dev="none")
    jobs = plan(quick.model_copy(update={"scale": f"{quick.scale}, entropy_models(steps=1)"}))
    job = min(reversed([job for job in jobs if job.size == jobs[0].size]), key=lambda job: job.recipe.batch_size)
    store = Store(tmp_path)
    store.prepare()
    record = run_job(job, store, lambda progress: None)
    assert (record.status, record.benchmark) == ("done", f"{name}-on-microworld")
    assert store.read(job.key) == record


def test_sizes_of_another_encoder_stay_behind_when_a_grid_moves() -> None:
    table = benchmarks.load("compcse-table6")
    small = miniature("compcse-table6")
    assert small.methods == table.elsewhere
    assert (small.elsewhere, small.corpus) == ("", "microworld:100000")
    again = benchmarks.moved(small, benchmarks.load("few-shot"))
    assert again.methods == small.methods


def test_methods_that_learn_from_labels_get_triples() -> None:
    table, demo, few_shot = (benchmarks.load(name) for name in ("rcl-table3", "microworld", "few-shot"))
    assert benchmarks.moved(table, demo).corpus == demo.triples
    assert benchmarks.moved(table, few_shot).corpus == table.corpus


def test_the_first_triples_are_pinned() -> None:
    rows = list(triples(500))
    assert hashlib.sha256("\n".join(map("\t".join, rows)).encode()).hexdigest() == TRIPLES
    assert rows[:50] == list(triples(50))
    assert rows[:50] != list(triples(50, seed=1))
    assert all(len({*row}) == 3 for row in rows)
    assert len({anchor for anchor, _, _ in rows}) == 500
    assert not all_sentences() & {text for row in rows for text in row}


def test_triples_are_a_corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "user_cache_path", lambda name: tmp_path / name)
    found = read_corpus("microworld:triples:30")
    assert [tuple(line.split("\t")) for line in found] == list(triples(30))
    assert read_corpus("microworld:triples:30").sha256 == found.sha256  # now from the cache
    assert read_corpus("microworld:30").sha256 != found.sha256
    for wrong in ("microworld:triples:0", "microworld:triplets:3", "microworld:triples:3:"):
        with pytest.raises(BadData, match="COUNT from 1"):
            read_corpus(wrong)


@pytest.mark.parametrize(
    ("method", "line"),
    [
        ("simcse", "bert-base      0.1 %  sts-avg       67.94 +- 1.16 (n=5)  micse, Table 2"),
        ("micse-ami", "69.54 +- 1.61 (n=5)  micse, Table 3"),
        ("ct+ami", "71.12 +- 1.11 (n=5)  micse, Table 2"),
        ("mirror-avg+ami", "71.34                micse, Table 2"),
        ("informin-cl", "77.30  informin-cl, Table 2"),
        ("informin-cl-mlm", "63.25  informin-cl, Table 6"),
        ("msse", "75.81 +- 0.41 (n=5)  msse, Table 2"),
        ("msse-dcm-reconstruct", "76.88  msse, Table 4"),
        ("compcse", "78.18  compcse, Table 1"),
        ("compcse-large", "79.67  compcse, Table 1"),
        ("compcse-roberta", "roberta-base"),
        ("rcl", "sroberta-base  NLI  sts-avg  82.40  rcl, Table 3"),
        ("simcse-sup", "81.57  msse, Table 3"),
    ],
)
def test_show_knows_what_papers_print(method: str, line: str) -> None:
    assert line in show(method)
