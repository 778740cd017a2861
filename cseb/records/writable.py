"""Folders that records are written to: made, proved to be writable, and rid of what killed processes left."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from cseb.errors import BadResults
from cseb.text import plain

ABANDONED = 3600  # seconds; a write takes less than one, so an older temporary belongs to a process that was killed
FULL = (errno.ENOSPC, errno.EDQUOT)
PROBE = bytes(2**16)  # what is written to find a full disk


def prepare(folders: Iterable[Path], written: Iterable[Path]) -> None:
    """Make `folders`, parents first, and prove that those of them in `written` can be written. Raises: BadResults."""
    for place in folders:
        try:
            place.mkdir(exist_ok=True)
        except FileNotFoundError:
            raise BadResults(
                f"{place} cannot be made: {place.parent} is missing; make it, or correct the path"
            ) from None
        except (FileExistsError, NotADirectoryError):
            raise BadResults(f"{place} cannot be a folder: a file is in its way; take another path") from None
        except OSError as error:
            raise unwritable(place, error) from error
    for place in written:
        _prove(place)


def _prove(place: Path) -> None:
    """Write and remove a file; remove temporaries that are old by the clock of the disk. Raises: BadResults."""
    probe = place / f".probe.{uuid.uuid4().hex}.tmp"
    try:
        try:
            with probe.open("xb") as file:
                file.write(PROBE)
                file.flush()
                os.fsync(file.fileno())
            now = probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)
        for path in place.glob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):  # another worker may be tidying up too
                if now - path.lstat().st_mtime > ABANDONED:  # a link is removed, never what it names
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    except OSError as error:
        raise unwritable(place, error) from error


def unwritable(path: Path, error: OSError) -> BadResults:
    """The error for a place that could not be written, with what to try."""
    hint = "free some space, or take another folder" if error.errno in FULL else "fix that, or take another folder"
    return BadResults(f"{plain(str(path))} cannot be written: {error.strerror or error}; {hint}")
