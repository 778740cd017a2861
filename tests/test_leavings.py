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


def make_checkout(folder: Path, test: str) -> None:
    """Write a checkout with one test."""
    for name in ("tests", "results/runs", "benchmarks"):
        (folder / name).mkdir(parents=True)
    (folder / "benchmarks/held.csv").write_text("a")
    shutil.copy(Path(__file__).with_name("leavings.py"), folder / "tests/leavings.py")
    (folder / "tests/__init__.py").write_text("")
    (folder / "tests/conftest.py").write_text(
        "from tests.leavings import Leavings\n"
        "def pytest_configure(config):\n"
        "    if not hasattr(config, 'workerinput'): config.pluginmanager.register(Leavings())\n"
    )
    (folder / "tests/test_one.py").write_text(test)


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
    make_checkout(tmp_path, SUITE.format(where=where))
    found = suite(tmp_path, parallel)
    assert found.returncode == 1, found.stdout
    assert "1 passed" in found.stdout
    word = "changed" if "held" in where else "new"
    assert f"{word}: {tmp_path / where}" in found.stdout
    assert suite(tmp_path, parallel).returncode == (0 if where == "notes.txt" else 1)


@pytest.mark.skipif(sys.platform == "darwin", reason="platformdirs reads no XDG variables there")
@pytest.mark.parametrize(("kind", "code"), [("DATA", 1), ("CONFIG", 1), ("CACHE", 0)])
def test_folders_of_the_tests_are_watched_except_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, code: int
) -> None:
    for name in ("DATA", "CONFIG", "CACHE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / "home" / name))
        (tmp_path / "home" / name / "cseb").mkdir(parents=True)
    path = tmp_path / "home" / kind / "cseb" / "file"
    make_checkout(tmp_path / "checkout", f"def test_it(): open({str(path)!r}, 'w').close()\n")
    assert suite(tmp_path / "checkout", parallel=False).returncode == code


def test_the_tests_have_folders_of_their_own() -> None:
    for kind in ("CACHE", "CONFIG", "DATA"):
        assert Path(os.environ[f"XDG_{kind}_HOME"]).is_relative_to(os.environ["CSEB_TESTS_HOME"])


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
