"""The scripts of the guide that run one job on two nodes do so: here both nodes are this machine, without a GPU."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cseb.records.store import Store
from tests.launchers.running import free_port
from tests.pages import ROOT, blocks

PAGE = ROOT / "docs" / "guide" / "clusters.md"
SRUN = """#!/bin/bash
SLURM_NODEID=0 "$@" & first=$!
SLURM_NODEID=1 "$@" & second=$!
wait $first && wait $second
"""
SMALL = (
    "--methods simcse --sizes 64 --seeds 1 --steps 2 --corpus wikipedia:200 --tasks snli-dev --dev none --device cpu"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["two-nodes.sh", "two-nodes-accelerate.sh"])
def test_one_job_runs_on_two_nodes(tmp_path: Path, name: str) -> None:
    (script,) = (block.text for block in blocks(PAGE) if block.file == name)
    for program, text in {"srun": SRUN, "scontrol": "#!/bin/bash\necho 127.0.0.1\necho other\n"}.items():
        (tmp_path / program).write_text(text)
        (tmp_path / program).chmod(0o755)
    for old, new in {
        "--nproc-per-node=8": "--nproc-per-node=1",
        "--num_processes=16": "--num_processes=2",
        "29500": str(free_port()),
        "--device cuda": f"{SMALL} --results {tmp_path / 'results'}",
    }.items():
        assert old in script or old.startswith("--n")
        script = script.replace(old, new)
    path = f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    variables = {"PATH": path, "PYTHONPATH": str(ROOT), "SLURM_JOB_ID": "7", "SLURM_JOB_NODELIST": "a,b"}
    done = subprocess.run(
        ["bash", "-c", script], cwd=tmp_path, env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (record,) = Store(tmp_path / "results").load()[0]
    assert record.status == "done"
    assert record.protocol.processes == 2
