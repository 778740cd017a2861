"""A small file for each job that broke without a record: so `cseb status` can say what failed, and why."""

from __future__ import annotations

import contextlib
from pathlib import Path

from cseb.data.files import write_whole
from cseb.launchers.events import Broken, Event, Finished, Started
from cseb.launchers.heartbeat import folder_of, listed, read_small
from cseb.results.store import plain

SUFFIX = ".broken"


def note(results: Path, event: Event) -> None:
    """Leave why a job broke, until it is started again or has a record. A disk that refuses costs only the note."""
    path = folder_of(results) / f"{event.key}{SUFFIX}"
    with contextlib.suppress(OSError):
        match event:
            case Broken(reason=reason):
                write_whole(path, [plain(reason).encode()])
                path.with_suffix(".json").unlink(missing_ok=True)  # the heartbeat of a process that was killed
            case Started() | Finished():
                path.unlink(missing_ok=True)


def reasons(results: Path) -> dict[str, str]:
    """Why jobs broke, by key."""
    notes = [path for path in listed(folder_of(results)) if path.suffix == SUFFIX and not path.name.startswith(".")]
    found = {path.stem: read_small(path) for path in notes}
    return {key: plain(read[0].decode(errors="replace")) for key, read in found.items() if read is not None}
