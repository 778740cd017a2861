"""Error files: one for each job that ended without a record, so that `cseb status` can say what failed and why."""

from __future__ import annotations

import contextlib
from pathlib import Path

from cseb.data.files import write_whole
from cseb.launchers.claims import folder_of, listed, read_small
from cseb.launchers.events import Broken, Event, Finished, Started
from cseb.text import plain

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
