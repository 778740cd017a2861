"""One stream of random numbers varied at a time: what changes, what stays, and what a record says of it."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from cseb.analysis.comparable import groups
from cseb.analysis.study import gather
from cseb.commands.rerun import job_of
from cseb.data.subset import draw
from cseb.errors import BadResults
from cseb.experiment.benchmark import load, override
from cseb.experiment.job import Job
from cseb.experiment.plan import plan
from cseb.experiment.run_job import run_job
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.reports.captions import mixed_note
from cseb.seeds import VARIED, SingleStreamSeed
from tests.conftest import SENTENCES
from tests.factory import record
from tests.world import WORLD

SMALL = "+mlp+recipe(steps=3,warmup=0,batch_size=8,learning_rate=1e-3)"


def test_subsets_follow_their_own_stream() -> None:
    assert np.array_equal(draw(100, 10, SingleStreamSeed(2, "subset")), draw(100, 10, 2))
    assert np.array_equal(draw(100, 10, SingleStreamSeed(2, "order")), draw(100, 10, 0))


@pytest.fixture
def jobs(tiny: Callable[[str], Path], tmp_path: Path) -> Callable[[str], list[Job]]:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")

    def make(vary: str) -> list[Job]:
        options = {"encoder": str(tiny("bert")), "corpus": str(corpus), "sizes": "16", "tasks": "toy-captions"}
        grid = override(load(WORLD), methods=f"simcse{SMALL}", seeds=2, dev="none", **options)
        return plan(grid, vary=vary)

    return make


def test_keys_of_ordinary_jobs_are_what_they_were(jobs: Callable[[str], list[Job]]) -> None:
    """The identity holds `vary` only where one thing varies, so that older records keep their names."""
    (first, _), (alone, _) = jobs("all"), jobs("subset")
    assert replace(first, vary="subset").key == alone.key
    assert len({job.key for vary in ("all", *VARIED) for job in jobs(vary)}) == 10
    committed = Store(Path(__file__).parents[1] / "benchmarks/expected/demo")
    contents = {(record.method, record.subset.size, record.seed): record.key for record in committed.load()[0]}
    results = {(job.label, job.size, job.seed): job.key for job in plan(load("demo"))}
    assert results == contents


@pytest.mark.parametrize(
    ("vary", "same_subset", "same_scores"),
    [("subset", False, False), ("order", True, False), ("init", True, False), ("dropout", True, False)],
)
def test_a_run_changes_by_what_varies_alone(
    jobs: Callable[[str], list[Job]], store: Store, vary: str, same_subset: bool, same_scores: bool
) -> None:
    plain = run_job(jobs("all")[0], store, lambda look: None)
    first, second = (run_job(job, store, lambda look: None) for job in jobs(vary))
    assert first.scores == plain.scores  # at seed 0 nothing is different
    assert (first.subset == second.subset) is same_subset
    assert (first.scores == second.scores) is same_scores
    assert store.read(second.key).vary == vary
    assert job_of(second, "", "").key == second.key


def test_records_of_before_read_as_runs_in_which_everything_varies() -> None:
    content = json.loads(record().model_dump_json())
    assert content.pop("vary") == "all"
    assert Record.model_validate_json(json.dumps(content)) == record()
    with pytest.raises(ValidationError):
        Record.model_validate_json(json.dumps(content | {"vary": "weather"}))
    with pytest.raises(ValidationError):
        Record.model_validate_json(json.dumps(content | {"varied": "subset"}))


def runs(vary: str, points: list[float]) -> list[Record]:
    made = [record(seed=seed, values=(point,) * 3) for seed, point in enumerate(points)]
    return [each.model_copy(update={"vary": vary}) for each in made]


def test_runs_that_vary_one_thing_are_in_tables_of_their_own(tmp_path: Path) -> None:
    stored = runs("all", [50, 52]) + runs("subset", [50, 51])
    assert groups(stored) == [stored[:2], stored[2:]]
    with pytest.raises(BadResults, match="differ in seed scope: all / subset"):
        gather(stored)
    notes = [list(mixed_note(gather(group))) for group in groups(stored)]
    assert notes == [[], ["The seed decides the subset only; all other random numbers are those of seed 0."]]
