"""The Slurm launcher without a cluster: how jobs are packed, what an allocation does, and a controller that fails."""

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.experiment.benchmark import load, override
from cseb.experiment.plan import plan
from cseb.launchers import launch, slurm
from cseb.launchers.job_runner import RUN_JOB, Broken, JobRunner
from cseb.launchers.slurm import Slurm, requested_gpus
from cseb.records.store import Store
from tests import standin_jobs
from tests.world import WORLD

pytest.importorskip("submitit", reason="submitit is not installed")
SQUEUE = """
echo >> {folder}/calls
calls=$(wc -l < {folder}/calls)
[ $calls -eq 3 ] && cp -r {left}/* {results}/  # by then the jobs have ended
[ $calls -gt 20 ] && exit 0
echo "slurm_load_jobs error: Unable to contact slurm controller" >&2
exit 1
"""


@pytest.mark.parametrize(("refused", "code"), [(0, 0), (1, 2)])
def test_what_jobs_left_is_read_though_squeue_fails(
    store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    refused: int,
    code: int,
) -> None:
    grid, left, commands = standin_jobs.jobs("a", "b"), Store(tmp_path / "left"), tmp_path / "bin"
    left.prepare()
    for job in grid[refused:]:
        left.write(standin_jobs.record(job), {})
    if refused:  # it has no record, only the result of its allocation tells
        (left.folder / "slurm").mkdir()
        result = "success", [Broken(grid[0].key, "user", "the corpus is gone")]
        (left.folder / "slurm" / "7_0_result.pkl").write_bytes(pickle.dumps(result))
    commands.mkdir()
    squeue = SQUEUE.format(folder=tmp_path, left=left.folder, results=store.folder)
    for name, script in {"srun": "", "scancel": "", "sbatch": "echo Submitted batch job 7", "squeue": squeue}.items():
        (commands / name).write_text(f"#!/bin/sh\n{script}\n")
        (commands / name).chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join((str(commands), os.environ["PATH"])))
    monkeypatch.setattr(slurm, "PAUSES", (0.05, 0.05))
    summary = launch(grid, store, Slurm(), lambda event: None, target=standin_jobs.TARGET)
    assert (summary.done, summary.refused, summary.exit_code) == (2 - refused, refused, code)
    assert len((tmp_path / "calls").read_text().splitlines()) <= 4
    said = "cseb: squeue failed and will be retried: slurm_load_jobs error: Unable to contact slurm controller\n"
    assert capfd.readouterr().err == said


@pytest.mark.parametrize(
    ("options", "count"),
    [
        ({}, 1),
        ({"time": "60"}, 1),
        ({"gres": "gpu"}, 1),
        ({"gres": "gpu:8"}, 8),
        ({"gres": "gpu:a100:4"}, 4),
        ({"gres": "gres/gpu:2"}, 2),
        ({"gres": "shard:6,gpu:a100:2,gpu:h100:2"}, 4),
        ({"gres": "shard:6"}, 1),
        ({"gres": "shard:6", "gpus": "3"}, 3),
        ({"gpus-per-node": "a100:8"}, 8),
        ({"gpus_per_task": "2"}, 2),
        ({"gpus": "a100"}, 1),
    ],
)
def test_gpus_of_an_allocation_are_read_from_the_options(options: dict[str, str], count: int) -> None:
    assert requested_gpus(options) == count


@pytest.mark.parametrize(
    ("options", "per_gpu", "sizes"),
    [({"gres": "gpu:8"}, 1, [32, 32]), ({"gres": "gpu:1"}, 1, [4] * 16), ({"gpus": "4"}, 2, [32, 32])],
)
def test_an_allocation_gets_jobs_for_all_its_gpus(
    store: Store, monkeypatch: pytest.MonkeyPatch, options: dict[str, str], per_gpu: int, sizes: list[int]
) -> None:
    packs: list[int] = []
    monkeypatch.setattr(slurm._Queue, "run", lambda queue, split: packs.extend(map(len, split)))
    monkeypatch.setattr(Slurm, "_executor", lambda *_: None)
    cuda = replace(standin_jobs.PROTOCOL, device="cuda")
    grid = [replace(job, protocol=cuda) for job in standin_jobs.jobs(*["a"] * 64)]
    launch(grid, store, Slurm(options, per_gpu=per_gpu), lambda event: None, target=standin_jobs.TARGET)
    assert packs == sizes


def test_an_allocation_runs_a_job_on_each_of_its_gpus_at_a_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1,2")
    cuda = replace(standin_jobs.PROTOCOL, device="cuda")
    grid = tuple(replace(job, protocol=cuda) for job in standin_jobs.jobs(*["device"] * 3))
    runner = JobRunner(standin_jobs.TARGET, store)
    assert slurm._work(runner, grid, dict.fromkeys((job.key for job in grid), None), Slurm()) == []
    assert sorted(store.read(job.key).benchmark for job in grid) == ["0", "1", "2"]


def test_an_allocation_without_a_gpu_says_so_for_each_job(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing --gres or a dead driver: nothing is trained on the CPU, and no record claims to be of a GPU."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    small = {"methods": "simcse+recipe(batch_size=8)", "fractions": "0.01", "seeds": 1, "steps": 2}
    small |= {"tasks": "toy-captions"}
    (job,) = plan(override(load(WORLD), **small))
    job = replace(job, protocol=replace(job.protocol, device="cuda"))
    (broken,) = slurm._work(JobRunner(RUN_JOB, store), (job,), {job.key: None}, Slurm({"gres": "gpu:1"}))
    assert (broken.key, broken.kind) == (job.key, "user")
    assert broken.reason.startswith("this job was planned for cuda, but PyTorch finds only cpu in its process; check")
    assert "--gres" in broken.reason
    assert store.keys() == set()
