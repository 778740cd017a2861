"""Heartbeats: a small file for each running job, rewritten every few seconds, so that every host can see it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from cseb.experiment.job import Job
from cseb.launchers.process_identity import began, machine
from cseb.records.progress import Progress

EVERY = 5.0  # seconds between two beats
LAUNCHER = ".launcher"  # how the file of whoever hands out jobs ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """The content of a job's heartbeat. seconds: since it was started, by a clock that does not jump."""

    key: str
    method: str
    fraction: float
    seed: int
    host: str
    pid: int
    seconds: float
    step: int = 0
    steps: int = 0
    loss: float | None = None
    dev: float | None = None
    machine: str = ""  # see `machine`
    began: int = 0  # see `began`


def folder_of(results: Path) -> Path:
    """Where the files are, one for each running job: `<key>.json`."""
    return results / "running"


@contextmanager
def beating(results: Path, job: Job, watch: Callable[[Progress], None]) -> Iterator[Callable[[Progress], None]]:
    """Keep a job's heartbeat file while it runs; yields `watch` with progress recorded.

    Nothing here can fail the job or hold it up: a disk that is full, read-only or hangs leaves it without a heartbeat.
    """
    started = time.monotonic()
    seen = Progress(job.key, 0, 0, None, None)

    def overhear(progress: Progress) -> None:
        nonlocal seen
        seen = progress
        watch(progress)

    def now() -> bytes:
        return content(job, seen, time.monotonic() - started)

    with kept(file_of(results, job), now):
        yield overhear


def file_of(results: Path, job: Job) -> Path:
    """A job's heartbeat."""
    return folder_of(results) / f"{job.key}.json"


def content(job: Job, seen: Progress, seconds: float) -> bytes:
    """A beat of this process, as it is written."""
    beat = Beat(
        key=job.key,
        method=job.label,
        fraction=job.fraction,
        seed=job.seed,
        host=socket.gethostname(),
        pid=os.getpid(),
        seconds=round(seconds, 1),
        step=seen.step,
        steps=seen.steps,
        loss=seen.loss,
        dev=seen.dev,
        machine=machine(),
        began=began(os.getpid()),
    )
    return json.dumps(asdict(beat)).encode()


@contextmanager
def kept(path: Path, now: Callable[[], bytes]) -> Iterator[None]:
    """Keep a file with what `now` gives, rewritten every few seconds; it is gone afterwards."""
    over = threading.Event()
    thread = threading.Thread(target=_beat, args=(path, now, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(1.0)  # longer only if the disk hangs


def _beat(path: Path, now: Callable[[], bytes], over: threading.Event) -> None:
    """A file may say the same as before, but it is a new one each time: its age is that of its last beat."""
    while True:
        with contextlib.suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            _write(path, now())
        if over.wait(EVERY):
            break
    with contextlib.suppress(OSError):
        path.unlink()


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all, and without waiting for the disk: nothing is lost with a beat."""
    staged = temporary(path)
    try:
        staged.write_bytes(content)
        staged.replace(path)
    finally:
        staged.unlink(missing_ok=True)


def temporary(path: Path) -> Path:
    """A name beside a file, for what shall take its place."""
    return path.with_name(f".{path.stem}.{uuid.uuid4().hex}.tmp")
