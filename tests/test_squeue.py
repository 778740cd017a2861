"""A Slurm whose controller does not answer: commands that stand in for Slurm's own."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from cseb.launchers import launch, slurm
from cseb.launchers.events import Broken
from cseb.launchers.slurm import Slurm
from cseb.records.store import Store
from tests import standin_jobs

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
