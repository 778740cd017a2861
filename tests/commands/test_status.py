"""What a folder says of a grid that runs somewhere: done, running, failed, stale."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.commands.status import devices
from cseb.experiment.grid import plan_text, read_plan
from cseb.experiment.job import Job
from cseb.experiment.tuning import FIRST_SEED
from cseb.launchers import launch
from cseb.launchers.claims import folder_of
from cseb.launchers.local import Local
from cseb.records.store import Store
from tests import standin_jobs
from tests.launchers.running import leave_claim_of_killed_process, shown
from tests.stderr_lines import without_progress

ROOT = Path(__file__).parents[2]


def test_done_failed_and_waiting_jobs_are_counted_by_the_plan(store: Store) -> None:
    jobs = [standin_jobs.job(label, seed) for label in ("simcse", "micse") for seed in range(3)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    for job in jobs[:3]:
        store.write(standin_jobs.record(job), {})
    store.write(standin_jobs.record(jobs[3], failed="the loss is nan"), {})
    (store.runs / f"{'f' * 16}.json").write_text("garbage")
    lines = shown(store).splitlines()
    assert lines[0] == "3 of 6 done, 1 failed"
    assert [line.split() for line in lines[2:4]] == [["3/3", "simcse"], ["!1", "0/3", "micse"]]
    assert lines[-2] == "failed: micse 10 % seed 0: the loss is nan"
    assert re.fullmatch(r"unreadable: .*/ffffffffffffffff.json: not a record: .*; repeat the run", lines[-1])


def test_tuning_trials_have_a_row_of_their_own(store: Store) -> None:
    jobs = [standin_jobs.job("simcse", seed) for seed in (FIRST_SEED, FIRST_SEED + 1, 0)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    for job in jobs[:2]:
        store.write(standin_jobs.record(job), {})
    assert shown(store).splitlines()[2:4] == ["2/2   simcse, tuning trials", "0/1   simcse"]


def test_counts_of_methods_with_other_fractions_stand_below_each_other(store: Store) -> None:
    jobs = [standin_jobs.job("simcse"), standin_jobs.job("a" * 90, fraction=0.5)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    assert shown(store).splitlines()[1:4] == [
        "10 %  50 %  method",
        "0/1   --    simcse",
        f"--    0/1   {'a' * 90}",
    ]


@pytest.mark.parametrize("label", ["mistake", "left"])
def test_what_broke_without_a_record_is_told_and_not_waited_for(store: Store, label: str) -> None:
    jobs = [standin_jobs.job("a"), standin_jobs.job(label, 1)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    launch(jobs, store, Local(1 if label == "mistake" else 2), lambda event: None, target=standin_jobs.TARGET)
    lines = shown(store).splitlines()
    why = {"mistake": "the corpus is gone", "left": "the worker ended with exit code 3"}[label]
    assert (lines[0], lines[-1]) == ("1 of 2 done, 1 failed", f"failed: {label} 10 % seed 1: {why}")
    seen: list[str] = []
    launch(jobs[1:], store, Local(2), lambda _: seen.append(shown(store)), target=standin_jobs.TARGET)
    assert "1 of 2 done\n" in seen[0]  # it runs again
    store.write(standin_jobs.record(jobs[1]), {})
    assert "failed:" not in shown(store)
    launch(jobs[1:], store, Local(1), lambda event: None, target=standin_jobs.TARGET)
    assert not list(folder_of(store.folder).glob("[!.]*"))


def test_memory_is_that_of_a_device(store: Store) -> None:
    store.write(standin_jobs.record(standin_jobs.job("a", 3)), {})
    gpu = standin_jobs.record(standin_jobs.job("a", 0))
    origin, protocol = replace(gpu.origin, device="H100"), replace(gpu.protocol, device="cuda")
    changes = {"origin": origin, "protocol": protocol, "cost": replace(gpu.cost, peak_gpu_mb=2000.0)}
    store.write(gpu.model_copy(update=changes), {})
    gpu_line = "cuda (H100): 1 record, at most 1 MB, GPU 2,000 MB"
    assert devices(store.load()[0]) == ["cpu (cpu): 1 record, at most 1 MB", gpu_line]


def test_jobs_of_earlier_grids_stay_planned(store: Store) -> None:
    earlier, now = standin_jobs.jobs("simcse", "micse"), standin_jobs.jobs("mean")
    path = store.folder / "plan-mine.tsv"
    for jobs in (earlier, now, now):
        path.write_text(plan_text(jobs, read_plan(path)))
    assert list(read_plan(path)) == [job.key for job in earlier + now]
    assert shown(store).splitlines()[0] == "0 of 3 done"
    store.write(standin_jobs.record(standin_jobs.job("cls")), {})
    assert shown(store).splitlines()[0] == "1 of 4 done"
    path.unlink()
    os.mkfifo(path)
    assert read_plan(path) == {}


def cseb(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = (
        "import sys\nfrom cseb.commands.application import main\n"
        "try:\n    main()\nfinally:\n    assert 'torch' not in sys.modules"
    )
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_needs_no_torch(store: Store) -> None:
    jobs: list[Job] = [standin_jobs.job("simcse", seed) for seed in range(2)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    for job in jobs:
        store.write(standin_jobs.record(job), {})
    ran = cseb("status", str(store.folder))
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "2 of 2 done" in ran.stdout
    missing = cseb("status", str(store.folder / "nowhere"))
    assert missing.returncode == 2
    assert len(without_progress(missing.stderr)) == 1


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes cannot be told apart here")
def test_after_a_kill_the_command_says_what_has_ended(store: Store) -> None:
    jobs = [standin_jobs.job("simcse", seed) for seed in range(2)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    store.write(standin_jobs.record(jobs[1]), {})
    leave_claim_of_killed_process(store.folder)
    said = " ".join(cseb("status", str(store.folder)).stdout.split())
    assert "stale: simcse 10 % seed 0: process" in said
    assert "has ended; repeat the run" in said
    assert "1 of 2 done" in said
    store.write(standin_jobs.record(jobs[0]), {})
    assert "stale" not in cseb("status", str(store.folder)).stdout
