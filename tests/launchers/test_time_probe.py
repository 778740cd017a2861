"""What is timed before a grid runs, where that is kept, and what is said of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.api import grid as grids
from cseb.api.grid import chosen_benchmark, plan_grid
from cseb.api.grid_text import outlook
from cseb.experiment.expected_time import Timed
from cseb.experiment.job import Job
from cseb.launchers import time_probe
from cseb.launchers.time_probe import estimates
from cseb.progress import listening
from tests.command_line import call
from tests.conftest import SENTENCES

TIMED = Timed(steps=(1.0, 2.0, 3.0), stages=0.0, token=0.0, sentence=0.01, fit=0.0, tasks=1.0, encoders=1, fitted=0)
Make = Callable[..., list[Job]]


@pytest.fixture
def make(tiny: Callable[[str], Path], tmp_path: Path) -> Make:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(SENTENCES), encoding="utf-8")

    def planned(methods: str, sizes: str = "16", seeds: int = 2) -> list[Job]:
        chosen = chosen_benchmark(
            "microworld", methods=methods, encoder=str(tiny("bert")), corpus=str(corpus), sizes=sizes, seeds=seeds,
            tasks="mw-captions", steps=4,
        )  # fmt: skip
        chosen = chosen.model_copy(update={"scale": f"{chosen.scale}, recipe(batch_size=8)"})
        return list(plan_grid(chosen, tmp_path / "results", device="cpu").grid.jobs)

    return planned


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Methods that would have been timed, each time somebody asks; all take as long."""
    calls: list[list[str]] = []

    def measured(jobs: Mapping[str, Job], at_once: int) -> tuple[dict[str, Timed], dict[str, str]]:
        calls.append([job.label for job in jobs.values()])
        return dict.fromkeys(jobs, TIMED), {}

    monkeypatch.setattr(time_probe, "_measured", measured)
    return calls


def test_a_method_is_timed_once_for_all_seeds_and_sizes_and_kept(
    make: Make, asked: list[list[str]], tmp_path: Path
) -> None:
    jobs = make("simcse,cls", sizes="16,24")
    found = estimates(jobs, 2, tmp_path / "kept")
    assert asked == [["simcse", "cls"]]
    assert set(found.spans) == {job.key for job in jobs}
    assert found.timed == ("simcse", "cls")
    again = estimates(jobs, 2, tmp_path / "kept")
    assert asked[1:] == [[]]
    assert again.spans == found.spans
    rate = [replace(job, method=job.method) for job in make("simcse+recipe(learning_rate=1e-3)")]
    estimates(rate, 2, tmp_path / "kept")
    assert asked[2:] == [[]]  # the same arithmetic
    estimates(make("simcse+recipe(max_length=16)"), 2, tmp_path / "kept")
    assert len(asked[3]) == 1


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"steps": [1]}', b"\xff"])
def test_a_damaged_file_is_measured_again(make: Make, asked: list[list[str]], tmp_path: Path, content: bytes) -> None:
    jobs = make("simcse")
    before = estimates(jobs, 1, tmp_path / "kept")
    [file] = (tmp_path / "kept").iterdir()
    held = file.read_bytes()
    file.write_bytes(content)
    assert estimates(jobs, 1, tmp_path / "kept") == before
    assert file.read_bytes() == held
    assert json.loads(held)["steps"] == [1.0, 2.0, 3.0]


def test_a_cache_that_cannot_be_written_costs_time_and_nothing_else(
    make: Make, asked: list[list[str]], tmp_path: Path
) -> None:
    (tmp_path / "kept").write_text("a file in its way")
    assert estimates(make("simcse"), 1, tmp_path / "kept").spans


def test_methods_left_over_are_judged_by_the_others_with_a_wide_range(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(time_probe, "_measured", lambda jobs, _: ({next(iter(jobs)): TIMED}, {}))
    simcse, micse = make("simcse,micse", seeds=1)
    found = estimates([simcse, micse], 1, tmp_path)
    assert (found.timed, found.guessed) == (("simcse",), ("micse",))
    known, guess = found.spans[simcse.key], found.spans[micse.key]
    assert guess.likely == pytest.approx(known.likely)
    assert guess.low * 4 == pytest.approx(guess.likely)
    assert guess.high == pytest.approx(4 * guess.likely)


def test_untrained_methods_say_nothing_of_trained_ones(
    make: Make, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs = {job.label: job for job in make("simcse,micse,mean", seeds=1)}
    simcse, micse, mean = (jobs[name] for name in ("simcse", "micse", "mean"))
    times = {"simcse": TIMED, "mean": replace(TIMED, tasks=1000.0)}
    monkeypatch.setattr(
        time_probe,
        "_measured",
        lambda asked, _: ({kind: times[job.label] for kind, job in asked.items() if job.label in times}, {}),
    )
    found = estimates([simcse, micse, mean], 1, tmp_path / "all")
    assert found.spans[micse.key].likely == pytest.approx(found.spans[simcse.key].likely)
    del times["simcse"]
    alone = estimates([mean, micse], 1, tmp_path / "untrained")
    assert (alone.guessed, set(alone.unknown)) == ((), {"micse"})
    assert micse.key not in alone.spans


@pytest.mark.slow  # both load torch
def test_processes_of_their_own_time_what_is_asked(make: Make, tmp_path: Path) -> None:
    """For once without a stand-in: two processes, one method that trains and one that cannot be timed."""
    good, bad = make("simcse,cls", seeds=1)
    bad = replace(bad, folder=str(tmp_path / "gone"))
    said: list[tuple[str, int, int]] = []
    with listening(lambda *one: said.append(one)):
        found = estimates([good, bad], 2, tmp_path / "kept")
    assert found.timed == ("simcse",)
    assert set(found.spans) == {good.key}
    assert found.spans[good.key].likely > 0
    assert list(found.unknown) == ["cls"]
    assert said[-1] == ("timing methods", 2, 2)
    assert len(list((tmp_path / "kept").iterdir())) == 1


def test_a_dry_run_and_a_run_say_how_long_it_will_take(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, asked: list[list[str]]
) -> None:
    monkeypatch.setattr(time_probe, "user_cache_path", lambda _: tmp_path / "cache")
    words = [
        "run",
        "microworld",
        "--methods",
        "cls",
        "--sizes",
        "64",
        "--seeds",
        "2",
        "--corpus",
        "microworld:100",
        "--device",
        "cpu",
    ]
    words += ["--tasks", "mw-captions", "--results", str(tmp_path / "r"), "--workers", "1"]
    hushed = call(*words, "--dry-run", "--no-probe")
    assert "2 to run, 2 of unknown length" in hushed.stdout
    assert asked == []
    listed = call(*words, "--dry-run", "--probe")
    assert "2 jobs, 2 to run, about " in listed.stdout
    assert "unknown" not in listed.stdout
    assert "timed here, some steps of each method: cls" in listed.stdout
    assert asked == [["cls"]]
    assert not (tmp_path / "r").exists()
    monkeypatch.setattr(grids.PlannedGrid, "run", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    run = call(*words, "--probe")
    assert "2 jobs, 2 to run, about " in run.stderr
    assert run.stdout == ""
    quiet = call(*words, "--probe", "--quiet")
    assert quiet.stderr == quiet.stdout == ""


def test_more_workers_than_cores_make_each_job_longer(
    make: Make, asked: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(time_probe, "_cores", lambda: 2)
    jobs = make("simcse", seeds=6)
    alone, crowded = estimates(jobs, 2, tmp_path), estimates(jobs, 6, tmp_path)
    assert crowded.spans[jobs[0].key] == pytest.approx(alone.spans[jobs[0].key].times(3.0))


def test_what_runs_elsewhere_is_not_timed_here(monkeypatch: pytest.MonkeyPatch, asked: list[list[str]]) -> None:
    planned = plan_grid(
        chosen_benchmark("microworld", methods="cls", seeds=1), "nowhere", launcher="slurm", device="cpu"
    )
    assert planned.probed() is planned
    together = plan_grid(chosen_benchmark("microworld", methods="cls", seeds=1), "nowhere", processes=2, device="cpu")
    assert together.probed() is together
    assert asked == []


def test_like_records_are_believed_before_anything_is_timed(
    monkeypatch: pytest.MonkeyPatch, asked: list[list[str]]
) -> None:
    from tests.standin_jobs import record

    planned = plan_grid(chosen_benchmark("microworld", methods="cls", seeds=3), "nowhere", workers=2, device="cpu")
    first = planned.grid.jobs[0]
    held = {"a": record(first, seconds=60.0), "b": record(replace(first, seed=9), seconds=120.0)}
    grid = replace(planned.grid, records=held)
    assert replace(planned, grid=grid).probed().grid is grid
    assert asked == []
    assert outlook(grid) == ["6 jobs, 6 to run, about 4 min (3 min to 6 min) with 2 workers"]
