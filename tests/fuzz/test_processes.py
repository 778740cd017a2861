"""A few commands as a shell would start them: what only a real start and a real end can show."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

from tests.fuzz.harness import SECONDS, Ended, Fuzz, breaches

pytestmark = pytest.mark.slow
COMMANDS: tuple[tuple[str, ...], ...] = (
    (), ("--version",), ("--nothing",), ("nothing",), ("show", "simcse+ami(weight=\x1b[31m)"), ("show", "\udcff"),
    ("show", "é" * 9000),
    ("show", "simcse+infonce(temperature=1e999)"), ("show", "\u202e"), ("show",), ("report", "nowhere"), ("report",
    "/dev/null"),
    ("report", "sound/demo", "--format", "json"), ("report", "sound/results", "--format", "latex"), ("compare",
    "sound/results"),
    ("status", "sound/results"), ("data", "sample", "/dev/null", "--size", "1"),
    ("data", "sample", "sound/corpus.txt", "--size", "2"),
    ("run", "sound/corpus.txt"), ("run", "demo", "--threads", "9" * 400, "--dry-run"), ("run", "demo", "--seeds", "x"),
    ("eval", "words:random", "--tasks", "sound/pairs.tsv"), ("eval", "sound", "--tasks", "toy-captions"),
    ("show", "a", "b"),
)  # fmt: skip


def _limited() -> None:
    """By the CPU's time, as in the server: others that use this machine make a command wait, and two minutes passed."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(SECONDS), int(SECONDS) + 1))


@pytest.mark.parametrize("number", range(len(COMMANDS)))
def test_a_real_command(fuzz: Fuzz, number: int) -> None:
    fuzz.restore()
    argv = COMMANDS[number]
    command = [sys.executable, "-m", "cseb", *argv]
    done = subprocess.run(
        command, cwd=fuzz.server.folder, env=fuzz.server.environment, capture_output=True, check=False,
        preexec_fn=_limited, timeout=30 * SECONDS,
    )  # fmt: skip
    ended = Ended(argv, done.returncode, False, 0.0, 0.0, 0, done.stdout, done.stderr, "")
    assert not breaches(ended), done.stderr.decode("utf-8", "replace")
