"""A small file for each job that runs, rewritten every few seconds: so any host that sees the folder knows of it.

A file that is no longer rewritten belongs to a job whose process has died. Its age is told by the clock of the disk it
lies on; and because a clock may jump, what looks old is called dead only if it stays as it is while we watch.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import socket
import stat
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cseb.plan import Job, Progress

EVERY = 5.0  # seconds between two beats
FRESH = 20.0  # seconds within which a beat says that its job is alive, whatever else the machine has to do
LARGEST = 4096  # bytes of a file
LAUNCHER = ".launcher"  # how the file of whoever hands out jobs ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Beat:
    """What a running job says of itself. seconds: since it was started, by a clock that does not jump."""

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


BEAT = TypeAdapter(Beat)


def folder_of(results: Path) -> Path:
    """Where the files are, one for each running job: `<key>.json`."""
    return results / "running"


@contextmanager
def beating(results: Path, job: Job, watch: Callable[[Progress], None]) -> Iterator[Callable[[Progress], None]]:
    """Keep the file of a job while it runs; what comes is `watch`, overheard.

    Nothing here can fail the job or hold it up: a disk that is full, read-only or hangs leaves it without a heartbeat.
    """
    started = time.monotonic()
    seen = Progress(job.key, 0, 0, None, None)

    def overhear(progress: Progress) -> None:
        nonlocal seen
        seen = progress
        watch(progress)

    def now() -> bytes:
        return _content(job, seen, time.monotonic() - started)

    with _kept(_file(results, job), now):
        yield overhear


def _file(results: Path, job: Job) -> Path:
    return folder_of(results) / f"{job.key}.json"


def _content(job: Job, seen: Progress, seconds: float) -> bytes:
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
    )
    return json.dumps(asdict(beat)).encode()


@contextmanager
def launching(results: Path) -> Iterator[None]:
    """Keep a file while jobs are handed out: it says that those which wait will be run."""
    about = f"{socket.gethostname()} {os.getpid()}\n".encode()
    with _kept(folder_of(results) / f"{uuid.uuid4().hex}{LAUNCHER}", lambda: about):
        yield


@contextmanager
def _kept(path: Path, now: Callable[[], bytes]) -> Iterator[None]:
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
    temporary = _temporary(path)
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.stem}.{uuid.uuid4().hex}.tmp")


@dataclass(frozen=True, slots=True)
class Seen:
    """A heartbeat as it was found. age: seconds by the clock of the disk, below 0 after a clock was set back."""

    beat: Beat
    age: float
    mark: tuple[int, int]  # differs after every beat


@dataclass(slots=True)
class Pulses:
    """The heartbeats in a folder of results, looked at once or again and again."""

    results: Path
    _marks: dict[str, tuple[int, int]] = field(default_factory=dict)
    _moved: dict[str, float] = field(default_factory=dict)  # when a beat was last seen to replace another

    def look(self) -> tuple[list[Seen], list[Seen]]:
        """The jobs that are alive, and those that are silent; files that are no heartbeats are passed over.

        Alive: a fresh file, or one that has changed since the last look, which counts even where clocks are wrong.
        """
        folder = folder_of(self.results)
        paths = [path for path in listed(folder) if path.suffix == ".json" and not path.name.startswith(".")]
        now = _now(folder) if paths else 0.0
        found = [seen for path in paths if (seen := _seen(path, now)) is not None]
        alive = [seen for seen in found if self._alive(seen.beat.key, seen.mark, seen.age)]
        return alive, [seen for seen in found if seen not in alive]

    def launched(self) -> bool:
        """Whether anybody is alive who hands out jobs."""
        folder = folder_of(self.results)
        read = {path: read_small(path) for path in listed(folder) if path.suffix == LAUNCHER}
        stats = {path: one[1] for path, one in read.items() if one is not None}
        now = _now(folder) if stats else 0.0
        return any(self._alive(path.name, _mark(one), now - one.st_mtime) for path, one in stats.items())

    def _alive(self, name: str, mark: tuple[int, int], age: float) -> bool:
        """A file from the future says nothing by its age."""
        clock = time.monotonic()
        if self._marks.setdefault(name, mark) != mark:
            self._marks[name], self._moved[name] = mark, clock
        return -1.0 <= age <= FRESH or clock - self._moved.get(name, -FRESH) < FRESH

    def settled(self, patience: float = 1.5 * EVERY) -> tuple[list[Seen], list[Seen]]:
        """As `look`, but nothing is called silent before it has been watched for `patience` seconds."""
        alive, silent = self.look()
        if silent:
            time.sleep(patience)
            alive, silent = self.look()
        return alive, silent


def next_job(results: Path, waiting: deque[Job], *, claim: bool = True) -> Job:
    """Take the first job that no live process is running, as far as the files tell without waiting; else the first.

    So several launchers on one folder share its jobs, and only at the very end two of them may run the same one.
    claim: leave its first beat at once, for whoever looks before it has begun; not for one that may wait for longer
    than a beat stays fresh.
    """
    keys = {path.stem for path in listed(folder_of(results))}
    running: set[str] = set()
    if any(job.key in keys for job in waiting):
        running = {seen.beat.key for seen in Pulses(results).look()[0]}
    for job in waiting:
        if job.key not in running and not (claim and job.key not in keys and _taken(results, job)):
            waiting.remove(job)
            return job
    return waiting.popleft()


def _taken(results: Path, job: Job) -> bool:
    """Whether another launcher has claimed the job since we looked; if not, it is ours: only one can make a file."""
    path = _file(results, job)
    temporary = _temporary(path)
    try:
        path.parent.mkdir(exist_ok=True)
        temporary.write_bytes(_content(job, Progress(job.key, 0, 0, None, None), 0.0))
        os.link(temporary, path)
    except FileExistsError:
        return True
    except OSError:  # a disk that is full or read-only, or has no links: then jobs may be run twice
        return False
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    return False


def listed(folder: Path) -> list[Path]:
    """What lies in a folder, by name; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def read_small(path: Path) -> tuple[bytes, os.stat_result] | None:
    """The first LARGEST bytes of a regular file, None for anything else: reading a pipe may never end."""
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as file:
            return file.read(LARGEST), os.fstat(file.fileno())
    except OSError:  # gone meanwhile
        return None


def _seen(path: Path, now: float) -> Seen | None:
    read = read_small(path)
    if read is None:
        return None
    content, found = read
    try:
        beat = BEAT.validate_json(content, strict=True)
    except ValidationError:  # not one of ours
        return None
    if path.stem != beat.key or not math.isfinite(beat.fraction) or not 0 <= beat.seconds < math.inf:
        return None
    return Seen(beat, now - found.st_mtime, _mark(found))


def _mark(found: os.stat_result) -> tuple[int, int]:
    return found.st_ino, found.st_mtime_ns


def _now(folder: Path) -> float:
    """The time by the clock of the disk; by our own where nothing may be written."""
    probe = folder / f".probe.{uuid.uuid4().hex}.tmp"
    try:
        with probe.open("xb") as file:
            file.write(b"\n")  # an empty file may be stamped by this host, not by the one with the disk
        return probe.stat().st_mtime
    except OSError:
        return time.time()
    finally:
        with contextlib.suppress(OSError):
            probe.unlink(missing_ok=True)
