"""Benchmarks for what is planned and not run, and small jobs that are run."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cseb.experiment.benchmark import Benchmark, load, override
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.records.record import Record
from tests.conftest import SENTENCES, save_lookalike
from tests.world import WORLD

Tiny = Callable[[str], Path]
SMALL = "+recipe(steps=6,warmup=0,batch_size=8,eval_every=3,learning_rate=1e-3)"

Make = Callable[..., Benchmark]
Jobs = Callable[..., list[Job]]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    return save_lookalike(tmp_path / "encoder")


@pytest.fixture
def make(tmp_path: Path, encoder: Path) -> Make:
    (tmp_path / "corpus.txt").write_text("\n".join(f"sentence {number}" for number in range(1000)))

    def benchmark(**changes: Any) -> Benchmark:
        fields: dict[str, Any] = {
            "name": "mine",
            "methods": "simcse,cls",
            "encoder": str(encoder),
            "corpus": str(tmp_path / "corpus.txt"),
            "fractions": [0.5, 0.1],
            "seeds": 2,
            "tasks": "toy-captions,toy-mixed",
            "dev": "toy-dev",
            "scale": "recipe(steps=60, batch_size=32)",
        }
        return Benchmark.model_validate(fields | changes)

    return benchmark


@pytest.fixture
def jobs(tiny: Tiny, tmp_path: Path) -> Jobs:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")

    def make(methods: str, **options: object) -> list[Job]:
        settled = {"encoder": str(tiny("bert")), "corpus": str(corpus), "fractions": "", "sizes": "16", "seeds": 1,
                   "tasks": "toy-captions,toy-relations", **options}  # fmt: skip
        return plan(override(load(WORLD), methods=methods, **settled))

    return make


def scores(record: Record) -> dict[tuple[str, str], float | None]:
    return {(score.task, score.select): score.value for score in record.scores}
