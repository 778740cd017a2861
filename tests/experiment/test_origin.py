"""The origin of a record: libraries, commit, arithmetic, GPU, memory."""

import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

import pytest
import torch

from cseb.encoder.linear import taken
from cseb.experiment import origin as origins
from cseb.experiment.origin import LIBRARIES, origin
from cseb.processor import processor
from tests.conftest import ROOT


def test_an_origin_names_the_libraries_that_are_installed_and_the_arithmetic() -> None:
    started = datetime(2026, 11, 24, 6, 0, tzinfo=UTC)
    result = origin("cpu", "bf16", started)
    assert {name: result.versions[name] for name in LIBRARIES} == {name: version(name) for name in LIBRARIES}
    assert (result.dtype, result.linear) == ("bf16", taken())
    assert len(processor().splitlines()) == 1
    assert result.started == "2026-11-24T06:00:00+00:00" < result.finished


def test_an_origin_on_a_gpu_names_cuda_cudnn_and_the_driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = tmp_path / "version"
    driver.write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  Tue Jan  7 2025\nGCC version: 12\n")
    monkeypatch.setattr(origins, "DRIVER", driver)
    monkeypatch.setattr(torch.version, "cuda", "12.8")
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: 91002)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "NVIDIA H100 80GB HBM3")
    monkeypatch.setattr(torch.cuda, "max_memory_allocated", lambda: 3 * 2**30)
    made = origin("cuda", "fp32", datetime(2026, 11, 24, 6, 0, tzinfo=UTC))
    assert made.device == "NVIDIA H100 80GB HBM3"
    versions = {name: made.versions[name] for name in ("cuda", "cudnn", "driver")}
    assert versions == {"cuda": "12.8", "cudnn": "91002", "driver": "570.86.15"}
    assert (origins.peak_gpu_mb("cuda"), origins.peak_gpu_mb("cpu")) == (3072.0, None)
    monkeypatch.setattr(origins, "DRIVER", tmp_path / "none")
    assert "driver" not in origin("cuda", "fp32", datetime.now(UTC)).versions
    assert "cuda" not in origin("cpu", "fp32", datetime.now(UTC)).versions


def test_the_commit_is_of_the_source_tree_and_marks_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "cseb" / "experiment" / "origin.py"
    file.parent.mkdir(parents=True)
    file.write_text("1\n")
    monkeypatch.setattr(origins, "__file__", str(file))
    commit = origins._commit.__wrapped__
    assert commit() == ""  # installed from a package

    def git(*words: str) -> str:
        told = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *words]
        return subprocess.run(told, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "--message", "first")
    short = git("rev-parse", "--short", "HEAD")
    assert commit() == short
    (tmp_path / "notes.txt").write_text("beside the package\n")
    assert commit() == short
    file.write_text("2\n")
    assert commit() == f"{short}+"


TAKES = """
import numpy as np
from cseb.experiment.origin import peak_rss_mb
before = peak_rss_mb()
np.ones((200, 2**17))  # a row is a megabyte
print(before, peak_rss_mb())
"""
STARTS = f"""
import subprocess, sys
mine = b"1" * (1_000 * 2**20)
subprocess.run([sys.executable, "-c", {TAKES!r}], check=True)
"""


def test_the_peak_of_memory_is_in_megabytes_and_that_of_this_process_alone() -> None:
    done = subprocess.run([sys.executable, "-c", STARTS], cwd=ROOT, check=True, capture_output=True, text=True)
    before, after = map(float, done.stdout.split())
    assert before < 900, "the process that started this one has 1,000 MB, which are not its own"
    assert before + 150 < after < before + 250
