"""Who may import whom, as pyproject.toml has it; and what a quick command must not load."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
HEAVY = ("torch", "transformers", "accelerate", "datasets", "pandas", "scipy")


def test_imports_follow_the_layers() -> None:
    lint = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    result = subprocess.run(
        lint, cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        *(["--help"], ["run", "--help"], ["status", "--help"], ["show", "methods"], ["show", "parts"]),
        *(["show", "benchmarks"], ["show", "msse"], ["data", "--help"], ["data", "list"], ["data", "list", "stsb"]),
    ],
)
def test_quick_commands_load_nothing_heavy(arguments: list[str]) -> None:
    script = (
        "import json, sys\n"
        "from cseb.commands.application import app\n"
        "try:\n    app(sys.argv[1:])\n"
        "except SystemExit as exit:\n    assert not exit.code\n"
        "sys.stderr.write(json.dumps(sorted(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    loaded = set(json.loads(result.stderr))
    assert not loaded & set(HEAVY)
    # The schemas would bring pydantic. Typer brings it too, to read arguments, so it cannot be asked for itself.
    assert not loaded & {"cseb.experiment.benchmark", "cseb.experiment.plan", "cseb.records.record", "numpy"}
    if "--help" in arguments:  # frames and colours would take a third of a command's help
        assert "rich.console" not in loaded


def test_no_plug_in_can_slow_the_start(tmp_path: Path) -> None:
    """The names of another package's methods are read from its metadata; its code is loaded only when it is named."""
    (tmp_path / "slow_plugin.py").write_text("raise RuntimeError('loaded')\n")
    info = tmp_path / "slow_plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: slow-plugin\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[cseb.term]\nslow = slow_plugin:Term\n")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    command = [sys.executable, "-m", "cseb", "show", "parts"]
    text = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert "slow " in text.stdout
