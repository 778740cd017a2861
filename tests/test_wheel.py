"""The wheel holds all that a stranger needs: benchmarks, expected records, data and encoders with their licences."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built and unpacked where nothing else of the repository is."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    assert wheel.stat().st_size < 24 * 2**20
    with zipfile.ZipFile(wheel) as archive:
        assert not [name for name in archive.namelist() if "__pycache__" in name or name.startswith("tests/")]
        archive.extractall(folder / "site")
    return folder / "site"


def call(installed: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "cseb", *words]
    return subprocess.run(
        command, cwd=installed.parent, env=environment, check=True, capture_output=True, text=True
    ).stdout


@pytest.mark.slow
def test_it_runs_from_the_wheel_alone(installed: Path) -> None:
    code = "import cseb; print(cseb.__file__)"
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=installed.parent, env=environment, check=True, capture_output=True, text=True
    )
    assert result.stdout.startswith(str(installed))
    names = [path.stem for path in (ROOT / "benchmarks").glob("*.yaml")]
    listed = call(installed, "show", "benchmarks")
    assert all(name in listed for name in names)
    assert "74.96" in call(installed, "show", "simcse")  # miCSE, table 2, 1 %
    assert "12 jobs, 12 to run" in call(installed, "run", "--seeds", "1", "--dry-run")
    assert list((installed / "cseb" / "benchmarks" / "expected" / "demo" / "runs").glob("*.json"))
    assert "wiki1m" in call(installed, "data", "list")
    assert not list((installed / "cseb" / "benchmarks").rglob("*.py"))  # scripts that only the repository needs
    published = installed / "cseb" / "benchmarks" / "published"
    assert [path.name for path in published.iterdir()] == ["scores.csv"]
    assert not (installed / "cseb" / "benchmarks" / "pretrain").exists()
    assert (installed / "cseb" / "py.typed").exists()  # else type checkers ignore every annotation of ours
    assert "snli-dev" in call(installed, "eval", "words:random", "--tasks", "snli-dev")
    assert len(call(installed, "data", "sample", "wikipedia", "--size", "2").splitlines()) == 2
    pages = {path.name for path in (installed / "cseb" / "open_data" / "LICENSES").iterdir()}
    assert pages == {path.name for path in (ROOT / "cseb" / "open_data" / "LICENSES").iterdir()}
    [stated] = (path.read_text("utf-8") for path in installed.glob("cseb-*.dist-info/METADATA"))
    assert "License-Expression: Apache-2.0 AND CC-BY-SA-4.0 AND CC-BY-4.0 AND CC-BY-3.0" in stated
