"""The check at the end of every run of the tests, tried on a run of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.leavings import left, standing

SUITE = """
from pathlib import Path
def test_it(tmp_path): (Path(__file__).parents[1] / {where!r}).write_text("x")
"""


def suite(folder: Path, parallel: bool) -> subprocess.CompletedProcess[str]:
    """Run the tests of a folder."""
    how = ["-p", "xdist", "-n", "2"] if parallel else []
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *how, "tests"]
    environment = os.environ | {"PYTHONPATH": str(folder), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)  # noqa: PLW1510


@pytest.mark.parametrize(
    ("where", "parallel"),
    [
        ("results/runs/a.json", False),
        ("results/runs/a.json", True),
        ("benchmarks/held.csv", False),
        ("notes.txt", False),
    ],
)
def test_a_run_that_writes_into_the_checkout_fails_and_names_the_file(
    tmp_path: Path, where: str, parallel: bool
) -> None:
    if parallel:
        pytest.importorskip("xdist")
    (tmp_path / "tests").mkdir()
    for folder in ("results/runs", "benchmarks"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "benchmarks/held.csv").write_text("a")
    shutil.copy(Path(__file__).with_name("leavings.py"), tmp_path / "tests/leavings.py")
    (tmp_path / "tests/__init__.py").write_text("")
    (tmp_path / "tests/conftest.py").write_text(
        "from tests.leavings import Leavings\n"
        "def pytest_configure(config):\n"
        "    if not hasattr(config, 'workerinput'): config.pluginmanager.register(Leavings())\n"
    )
    (tmp_path / "tests/test_one.py").write_text(SUITE.format(where=where))
    found = suite(tmp_path, parallel)
    assert found.returncode == 1, found.stdout
    assert "1 passed" in found.stdout
    word = "changed" if "held" in where else "new"
    assert f"{word}: {tmp_path / where}" in found.stdout
    assert suite(tmp_path, parallel).returncode == (0 if where == "notes.txt" else 1)


def test_what_tools_keep_is_not_looked_at(tmp_path: Path) -> None:
    before = standing(tmp_path)
    for name in ("__pycache__", ".hypothesis", "cseb.egg-info"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one").write_text("x")
    (tmp_path / ".coverage.host").write_text("x")
    assert left(before, standing(tmp_path), tmp_path) == []
    (tmp_path / "two").write_text("x")
    assert left(before, standing(tmp_path), tmp_path) == [f"new: {tmp_path / 'two'}"]
    assert left(standing(tmp_path), {}, tmp_path) == []
