"""Several processes that share each batch: where each of them is, which jobs all run, and what a failure ends."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import Tensor

from cseb.commands.planned_grid import PlannedGrid
from cseb.encoder.distributed import DistributedContext, distributed_context
from cseb.errors import BadBenchmark, BadData
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.grid import Grid
from cseb.launchers import spawn_ranks as several
from cseb.launchers.claims import Claims
from cseb.launchers.job_runner import Broken, JobRunner, Summary
from cseb.launchers.local import Local
from cseb.records.store import Store
from tests import standin_jobs
from tests.command_line import call, refused
from tests.stderr_lines import without_progress
from tests.world import WORLD

SMALL = (
    *("run", WORLD, "--methods", "simcse", "--fractions", "0.01", "--seeds", "1", "--tasks", "toy-captions"),
    *("--device", "cpu"),
)
PLACE = {several.RANK: "0", several.WORLD_SIZE: "2", "MASTER_ADDR": "localhost"}


def place(monkeypatch: pytest.MonkeyPatch, names: dict[str, str]) -> None:
    for name in (several.RANK, several.WORLD_SIZE, "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        ({"RANK": "1"}, "RANK=1 and WORLD_SIZE= in"),
        ({"WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}, "RANK= and WORLD_SIZE=2 in"),
        (PLACE | {"WORLD_SIZE": "abc"}, "whole numbers"),
        (PLACE | {"RANK": "2"}, "RANK below WORLD_SIZE"),
        (PLACE | {"RANK": "-1"}, "whole numbers"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "no MASTER_ADDR"),
    ],
)
def test_a_wrong_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: dict[str, str], wrong: str) -> None:
    place(monkeypatch, names)
    assert wrong in refused(*SMALL, "--results", str(tmp_path / "results"))
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("names", "count"), [({}, 1), ({"RANK": "0", "WORLD_SIZE": "1"}, 1), (PLACE | {"RANK": "1"}, 2)]
)
def test_a_place_that_can_be_is_taken(monkeypatch: pytest.MonkeyPatch, names: dict[str, str], count: int) -> None:
    place(monkeypatch, names)
    assert several.started() == count
    assert distributed_context() == DistributedContext(count - 1, count)


@pytest.mark.parametrize("options", [("--workers", "abc"), ("--workers", "2"), ("--jobs-per-gpu", "3")])
def test_several_processes_take_one_job_at_a_time(tmp_path: Path, options: tuple[str, str]) -> None:
    ran = refused(*SMALL, "--processes", "2", "--dry-run", "--results", str(tmp_path), *options)
    assert without_progress(ran) == [
        f"cseb: 2 processes that share each batch run one job at a time; leave {' '.join(options)} out"
    ]


@pytest.mark.parametrize(("rank", "stopped", "code"), [("0", False, 1), ("1", False, 0), ("1", True, 130)])
def test_only_rank_0_tells(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rank: str, stopped: bool, code: int
) -> None:
    place(monkeypatch, PLACE | {"RANK": rank})
    monkeypatch.setattr(PlannedGrid, "run", lambda *_: Summary(total=1, failed=1, stopped=stopped))
    assert call(*SMALL, "--results", str(tmp_path)).exit_code == code


def test_all_processes_run_the_jobs_of_the_first_in_its_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever each of them sees: another one's claims, or a record that came meanwhile."""
    protocol = replace(standin_jobs.PROTOCOL, processes=2)
    first, second, third = (replace(job, protocol=protocol) for job in standin_jobs.jobs("ok", "ok", "ok"))
    store = Store(tmp_path)
    grid = Grid(benchmarks.load(WORLD), [first, second, third], store, 1, {}, [second])
    store.prepare()
    monkeypatch.setattr("cseb.encoder.distributed.agreed", lambda *_: [first.key, third.key])
    ran: list[str] = []
    with Claims(tmp_path) as claims:
        claims.claim(first)
        Local().run(JobRunner(standin_jobs.TARGET, store), grid.agreed([second]), lambda event: ran.append(event.key))
    assert list(dict.fromkeys(ran)) == [first.key, third.key]
    monkeypatch.setattr("cseb.encoder.distributed.agreed", lambda *_: ["another"])
    with pytest.raises(BadBenchmark, match="other jobs"):
        grid.agreed([second])


@pytest.mark.parametrize(("label", "kind"), [("mistake", BadData), ("bug", ZeroDivisionError), ("memory", MemoryError)])
def test_an_error_in_one_process_ends_all(tmp_path: Path, label: str, kind: type[Exception]) -> None:
    """Going on to its next job it would train that one with others that are still at this."""
    job = standin_jobs.job(label)
    task = JobRunner(standin_jobs.TARGET, Store(tmp_path))
    assert isinstance(task.attempt(job, lambda _: None), Broken)
    with pytest.raises(kind):
        task.attempt(replace(job, protocol=replace(job.protocol, processes=2)), lambda _: None)


def test_the_others_share_of_a_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_reduce(value: Tensor) -> None:
        value += 5.25

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    assert DistributedContext(0, 2).others(2.0, "cpu") == 0  # they are not connected
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    assert DistributedContext(0, 2).others(2.0, "cpu") == 5.25
    assert DistributedContext().others(2.0, "cpu") == 0
