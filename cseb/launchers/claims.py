"""Claims and error files: what a folder of results says of running jobs, and of those that ended without a record.

A launcher claims a job before it hands it to a worker and removes the claim when the job ends, so that no two
launchers train the same job at once. The claim names host and process, so that a launcher on the same host knows
whether the process has ended. On other hosts a claim expires if it is not renewed. `cseb status` reads both.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import ConfigDict, Field, FiniteFloat, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from cseb.data.bounded import open_regular
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.experiment.job import Job
from cseb.launchers.job_runner import Broken, Event, Finished, Started
from cseb.records.progress import Progress
from cseb.records.store import Store
from cseb.text import plain

RENEWAL = 60.0  # seconds between two renewals of a claim
EXPIRY = 300.0  # seconds without renewal after which a claim of another host has expired
UPDATE = 5.0  # seconds between two updates of the progress of a job
LARGEST = 2**16  # bytes of a file
STATE, START = 0, 19  # fields of /proc/PID/stat behind the name, see proc(5)

Count = Annotated[int, Field(ge=0, lt=2**63)]


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid", strict=True))
class Claim:
    """The content of a claim: the job, the launcher's process, and the progress of the job."""

    key: str
    method: str
    fraction: Annotated[float, Field(ge=0, le=1)]
    seed: Count
    host: str
    pid: Count
    process_start: Count  # see `process_start`
    started: FiniteFloat  # Unix time
    step: Count = 0
    steps: Count = 0
    loss: FiniteFloat | None = None
    dev: FiniteFloat | None = None

    @property
    def progress(self) -> Progress:
        """Return the progress of the job."""
        return Progress(self.key, self.step, self.steps, self.loss, self.dev)


CLAIM = TypeAdapter(Claim)


class Claims:
    """The claims of one launcher on jobs of a folder of results; removed when the context ends."""

    def __init__(self, results: Path) -> None:
        self.results = results
        self.folder = folder_of(results)
        self._own: dict[str, Claim] = {}
        self._written: dict[str, float] = {}
        self._ended = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._renew, daemon=True).start()
        records = Store(self.results).runs
        with contextlib.suppress(OSError), self._lock():
            for claim in claims_of(self.results)[1]:
                if (records / f"{claim.key}.json").exists():  # killed between writing the record and this file
                    self.release(claim.key)
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        for key in list(self._own):
            self.release(key)

    def next_job(self, waiting: deque[Job]) -> Job | None:
        """Remove and return the first job that no other launcher has claimed; None if there is none."""
        for job in waiting:
            if self.claim(job):
                waiting.remove(job)
                return job
        return None

    def claim(self, job: Job, *, force: bool = False) -> bool:
        """Claim a job; return False if another launcher has claimed it. force: take its claim over."""
        claim = Claim(
            key=job.key,
            method=job.label,
            fraction=job.fraction,
            seed=job.seed,
            host=socket.gethostname(),
            pid=os.getpid(),
            process_start=process_start(os.getpid()),
            started=time.time(),
        )
        with contextlib.suppress(OSError):  # a disk that is full or read-only: jobs run without claims
            self.folder.mkdir(exist_ok=True)
            with self._lock():
                if not force and (other := _read(self._path(job.key))) is not None and other[1]:
                    return False
                self._write(claim)
        return True

    def update(self, event: Event) -> None:
        """Write the progress of a job into its claim, and remove the claim when the job has ended."""
        if event.key not in self._own:
            return
        claim = self._own[event.key]
        match event:
            case Started(key):
                self._own[key] = replace(claim, started=time.time())
            case Progress(key, step, steps, loss, dev):
                claim = self._own[key] = replace(claim, step=step, steps=steps, loss=_finite(loss), dev=_finite(dev))
                if time.monotonic() - self._written[key] > UPDATE:
                    with contextlib.suppress(OSError):
                        self._write(claim)
            case Finished(key) | Broken(key):
                self.release(key)

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with (self.folder / ".lock").open("wb") as file:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def _write(self, claim: Claim) -> None:
        path = self._path(claim.key)
        staged = path.with_name(f".{claim.key}.tmp")
        staged.write_bytes(CLAIM.dump_json(claim))
        staged.replace(path)
        self._own[claim.key], self._written[claim.key] = claim, time.monotonic()

    def release(self, key: str) -> None:
        """Remove the claim on a job."""
        self._own.pop(key, None)
        with contextlib.suppress(OSError):
            self._path(key).unlink(missing_ok=True)

    def _renew(self) -> None:
        while not self._ended.wait(RENEWAL):
            for key in list(self._own):
                with contextlib.suppress(OSError):
                    os.utime(self._path(key))

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def folder_of(results: Path) -> Path:
    """Return the folder of claims and error files in a folder of results."""
    return results / "running"


def claims_of(results: Path) -> tuple[list[Claim], list[Claim]]:
    """Return the valid claims in a folder of results, and those whose process has ended or that have expired."""
    claims = [claim for path in listed(folder_of(results)) if path.suffix == ".json" and (claim := _read(path))]
    return [claim for claim, valid in claims if valid], [claim for claim, valid in claims if not valid]


def _read(path: Path) -> tuple[Claim, bool] | None:
    """Return a claim and whether it is valid; None if the file is missing or contains no claim."""
    content = read_small(path)
    try:
        claim = CLAIM.validate_json(content or b"")
        age = time.time() - path.stat().st_mtime
    except (ValidationError, OSError):
        return None
    if claim.key != path.stem:
        return None
    if claim.host == socket.gethostname() and claim.process_start:
        return claim, claim.process_start == process_start(claim.pid)
    return claim, age < EXPIRY


def listed(folder: Path) -> list[Path]:
    """Return the visible files of a folder by name; none if it cannot be read."""
    try:
        return sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError:
        return []


def read_small(path: Path) -> bytes | None:
    """Return the first LARGEST bytes of a regular file; None for anything else."""
    try:
        with open_regular(path) as file:
            return file.read(LARGEST)
    except (OSError, BadData):
        return None


def process_start(process: int) -> int:
    """Return when a process was started, in clock ticks since boot; 0 if it has ended or the system does not tell."""
    try:
        text = Path(f"/proc/{process}/stat").read_text(errors="replace")
    except OSError:
        return 0
    fields = text.rpartition(")")[2].split()
    return 0 if fields[STATE] in ("Z", "X") else int(fields[START])


def _finite(value: float | None) -> float | None:
    return value if value is not None and abs(value) < float("inf") else None


SUFFIX = ".broken"


def note(results: Path, event: Event) -> None:
    """Write why a job failed; kept until it is started again or has a record. A full disk costs only the note."""
    path = folder_of(results) / f"{event.key}{SUFFIX}"
    with contextlib.suppress(OSError):
        match event:
            case Broken(reason=reason):
                write_whole(path, [plain(reason).encode()])
            case Started() | Finished():
                path.unlink(missing_ok=True)


def reasons(results: Path) -> dict[str, str]:
    """Return the reasons why jobs failed, by key."""
    notes = {path.stem: read_small(path) for path in listed(folder_of(results)) if path.suffix == SUFFIX}
    return {key: plain(text.decode(errors="replace")) for key, text in notes.items() if text is not None}
