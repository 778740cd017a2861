"""Every `cseb` command in the README runs as it is written; what would train for minutes is planned, not trained."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from cseb import benchmark
from tests.conftest import SENTENCES

ROOT = Path(__file__).parents[1]
BLOCKS = re.findall(r"```console\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
COMMANDS = [line[2:] for block in BLOCKS for line in block.splitlines() if line.startswith("$ cseb ")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, tiny: Callable[[str], Path], senteval: Path) -> Path:
    """A folder with the files the README speaks of."""
    folder = tmp_path_factory.mktemp("readme")
    shutil.copytree(tiny("bert"), folder / "my-bert")
    tokenizer = folder / "my-bert" / "tokenizer.json"
    text = tokenizer.read_text("utf-8")
    for digit, letter in zip("0123456789", "bcdjkmnopq", strict=True):  # the made-up sentences differ in their numbers
        text = text.replace(f'"{letter}":', f'"{digit}":').replace(f'"##{letter}":', f'"##{digit}":')
    tokenizer.write_text(text, "utf-8")
    (folder / "senteval").symlink_to(senteval)
    lines = [f"{sentence} {number}" for number in range(20) for sentence in SENTENCES]
    assert len(lines) > 600
    (folder / "my.txt").write_text("\n".join([*lines, *lines]), encoding="utf-8")
    (folder / "my.csv").write_text("id,body\n" + "".join(f"{i},{line}\n" for i, line in enumerate(lines * 2)))
    shutil.copytree(ROOT / "benchmarks" / "expected" / "demo", folder / "results")
    return folder


def test_the_readme_shows_the_owners_command() -> None:
    assert "cseb run --methods simcse,micse,msse --fractions 0.001,0.01 --seeds 5" in COMMANDS
    assert "cseb report --format latex" in COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_readme_runs(command: str, place: Path) -> None:
    words = shlex.split(command)[1:]
    if words[0] == "check":  # CI runs it; here it is enough that it has something to compare with
        loaded = benchmark.load(words[1])
        assert list((benchmark.expected(words[1], loaded.name) / "runs").glob("*.json"))
        return
    if words[0] == "run" and "--dry-run" not in words:
        words.append("--dry-run")
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "cseb", *words], cwd=place, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not done.stderr
