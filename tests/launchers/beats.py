"""Heartbeats of a results folder, as tests wait for them, age them, and leave them behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from cseb.commands.status import picture
from cseb.launchers.heartbeat import folder_of
from cseb.launchers.job_states import JobStates
from cseb.launchers.pulses import Pulses
from cseb.records.store import Store

ROOT = Path(__file__).parents[2]


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def beats(store: Store) -> list[Path]:
    return sorted(folder_of(store.folder).glob("*.json"))


def shown(store: Store, pulses: Pulses | None = None) -> str:
    console = Console(width=100, highlight=False)
    with console.capture() as captured:
        console.print(picture(JobStates(store), *(pulses or Pulses(store.folder)).look()))
    return captured.get()


def shift(path: Path, seconds: float) -> None:
    """As if the clock had been set meanwhile."""
    then = path.stat().st_mtime + seconds
    os.utime(path, (then, then))


def killed(folder: Path, script: str) -> None:
    """Run a script until it says that it is ready, and kill it without a word."""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=ROOT) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
        one.kill()


LEFT = """
import time
from pathlib import Path
from cseb.launchers.heartbeat import beating, folder_of
from cseb.launchers.claims import launching
from tests import standin_jobs
results = Path({folder!r})
with launching(results), beating(results, standin_jobs.job("simcse"), print):
    while len([path for path in folder_of(results).glob("*") if path.suffix != ".tmp"]) < 2:
        time.sleep(0.01)
    print("ready", flush=True)
    time.sleep(60)
"""
