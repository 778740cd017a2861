"""Heartbeats as others see them: which jobs are alive, which are silent, and what dead processes left.

A file that is no longer rewritten belongs to a job whose process has died. Its age is told by the clock of the disk it
lies on; and because a clock may jump, an old file counts as dead only if it does not change while we watch.
"""

from __future__ import annotations

import contextlib
import math
import os
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from cseb.data.bounded import open_regular
from cseb.errors import BadData
from cseb.launchers.heartbeat import EVERY, LAUNCHER, Beat, folder_of
from cseb.launchers.process_identity import ended

FRESH = 20.0  # seconds within which a beat says that its job is alive, whatever else the machine has to do
LARGEST = 4096  # bytes of a file
ABANDONED = 3600  # seconds without a beat after which a launcher's file is removed
MOST = 10**40  # of any number; a longer one has no place on a screen
DIGITS = 40
BEAT = TypeAdapter(Beat)


@dataclass(frozen=True, slots=True)
class Seen:
    """A heartbeat as it was found. age: seconds by the clock of the disk, below 0 after a clock was set back."""

    beat: Beat
    age: float
    mark: tuple[int, int]  # differs after every beat

    @property
    def dead(self) -> bool:
        """Whether its process is known to have ended, which only the machine it ran on can tell."""
        return ended(self.beat.pid, self.beat.machine, self.beat.began)


@dataclass(slots=True)
class Pulses:
    """The heartbeats in a folder of results, to be read once or repeatedly."""

    results: Path
    _marks: dict[str, tuple[int, int]] = field(default_factory=dict)
    _moved: dict[str, float] = field(default_factory=dict)  # when a beat was last seen to replace another

    def look(self) -> tuple[list[Seen], list[Seen]]:
        """The jobs that are alive, and those that are silent; other files are skipped.

        Alive: a fresh file, or one that has changed since the last reading, which counts even where clocks are wrong.
        """
        folder = folder_of(self.results)
        paths = [path for path in listed(folder) if path.suffix == ".json" and not path.name.startswith(".")]
        now = _now(folder) if paths else 0.0
        found = [seen for path in paths if (seen := _seen(path, now)) is not None]
        alive = [seen for seen in found if not seen.dead and self._alive(seen.beat.key, seen.mark, seen.age)]
        return alive, [seen for seen in found if seen not in alive]

    def launched(self) -> bool:
        """Whether anybody is alive who hands out jobs."""
        folder = folder_of(self.results)
        read = {path: read_small(path) for path in listed(folder) if path.suffix == LAUNCHER}
        stats = {path: one[1] for path, one in read.items() if one is not None and not _abandoned(one[0])}
        now = _now(folder) if stats else 0.0
        return any(self._alive(path.name, _mark(one), now - one.st_mtime) for path, one in stats.items())

    def _alive(self, name: str, mark: tuple[int, int], age: float) -> bool:
        """A file from the future says nothing by its age."""
        clock = time.monotonic()
        if self._marks.setdefault(name, mark) != mark:
            self._marks[name], self._moved[name] = mark, clock
        return -1.0 <= age <= FRESH or clock - self._moved.get(name, -FRESH) < FRESH

    def settled(self, patience: float = 1.5 * EVERY) -> tuple[list[Seen], list[Seen]]:
        """As `look`, but a job counts as silent only after it has been watched for `patience` seconds."""
        alive, silent = self.look()
        if any(not seen.dead for seen in silent):
            time.sleep(patience)
            alive, silent = self.look()
        return alive, silent


def tidy(results: Path) -> None:
    """Remove what dead processes left among the heartbeats: files of launchers, and half-written ones.

    A launcher's file goes when its process is known to have ended, or after ABANDONED seconds without a beat; one that
    lives after all writes it again.
    """
    folder = folder_of(results)
    left = [path for path in listed(folder) if path.suffix in (LAUNCHER, ".tmp")]
    now = _now(folder) if left else 0.0
    for path in left:
        with contextlib.suppress(OSError):
            read = read_small(path) if path.suffix == LAUNCHER else None
            if now - path.lstat().st_mtime > ABANDONED or (read is not None and _abandoned(read[0])):
                path.unlink()


def _abandoned(about: bytes) -> bool:
    """Whether the launcher that says this of itself is known to have ended: host, process, machine, start."""
    words = about.decode(errors="replace").split()
    if len(words) != 4 or not (words[1] + words[3]).isdecimal() or len(words[1] + words[3]) > DIGITS:
        return False
    return ended(int(words[1]), words[2], int(words[3]))


def listed(folder: Path) -> list[Path]:
    """What lies in a folder, by name; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def read_small(path: Path) -> tuple[bytes, os.stat_result] | None:
    """The first LARGEST bytes of a regular file, None for anything else: reading a pipe may never end."""
    try:
        with open_regular(path) as file:
            return file.read(LARGEST), os.fstat(file.fileno())
    except (OSError, BadData):  # gone meanwhile, or none of ours
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
    if path.stem != beat.key or not _sensible(beat):
        return None
    return Seen(beat, now - found.st_mtime, _mark(found))


def _sensible(beat: Beat) -> bool:
    """Whether its numbers can be those of a job: they are shown, and reckoned with."""
    counts, points = (beat.seed, beat.pid, beat.step, beat.steps, beat.began), (beat.loss or 0.0, beat.dev or 0.0)
    return (
        0 <= beat.fraction <= 1
        and 0 <= beat.seconds < math.inf
        and all(0 <= one < MOST for one in counts)
        and beat.pid < 2**31
        and all(abs(one) < MOST or not math.isfinite(one) for one in points)
    )


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
