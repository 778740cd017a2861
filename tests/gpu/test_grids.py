"""Grids on a real GPU: an error of CUDA costs one job, jobs share a GPU, processes share a job."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from cseb.launchers import launch
from cseb.launchers.job_runner import Broken, Event
from cseb.launchers.local import Local
from cseb.records.record import Record
from cseb.records.store import Store
from tests import standin_jobs
from tests.gpu.conftest import SIMULATED
from tests.gpu.gpu_jobs import TARGET
from tests.world import WORLD

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(SIMULATED, reason="processes of their own need a real GPU")]
SMALL = ("--fractions", "0.01", "--tasks", "toy-captions", "--quiet")


def run(results: Path, device: str, *options: str) -> list[Record]:
    command = [sys.executable, "-m", "cseb", "run", WORLD, *SMALL, "--results", str(results), "--device", device]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return sorted(Store(results).load()[0], key=lambda record: record.origin.finished)


def test_a_device_assert_costs_one_job(device: str, tmp_path: Path) -> None:
    protocol, events = replace(standin_jobs.PROTOCOL, device=device), list[Event]()
    grid = [replace(job, protocol=protocol) for job in standin_jobs.jobs("a", "b", "assert", "c", "d")]
    store = Store(tmp_path)
    store.prepare()
    summary = launch(grid, store, Local(1), events.append, target=TARGET)
    (broken,) = [event for event in events if isinstance(event, Broken)]
    assert (summary.done, broken.key, broken.kind) == (4, grid[2].key, "device")


def test_jobs_share_a_gpu(device: str, tmp_path: Path) -> None:
    records = run(tmp_path, device, "--methods", "simcse", "--seeds", "4", "--jobs-per-gpu", "2")
    assert [record.status for record in records] == ["done"] * 4


def test_twenty_jobs_of_one_worker_take_the_memory_of_one(device: str, tmp_path: Path) -> None:
    records = run(tmp_path, device, "--methods", "simcse", "--seeds", "20")
    peaks = [record.cost.peak_gpu_mb or 0.0 for record in records]
    assert max(peaks) <= 1.1 * peaks[0]


def test_two_processes_train_as_one(device: str, tmp_path: Path) -> None:
    if torch.cuda.device_count() < 2:
        pytest.skip("two GPUs are needed")
    options = ("--methods", "simcse", "--seeds", "1")
    (single,) = run(tmp_path / "single", device, *options)
    (shared,) = run(tmp_path / "shared", device, *options, "--processes", "2")
    assert shared.trace.curve[0][1] == pytest.approx(single.trace.curve[0][1], rel=0.05)  # other dropout masks
