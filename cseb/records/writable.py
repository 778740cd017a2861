"""Prepare folders for records: make them, check that they can be written, remove files that killed processes left."""

from __future__ import annotations

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterable
from pathlib import Path

from cseb.data.files import written
from cseb.errors import BadResults

ABANDONED = 3600  # seconds after which a temporary file belongs to a process that was killed
ANOTHER = "use another folder"
PROBE = bytes(2**16)  # written to detect a full disk
HIDDEN = (".gitignore", ".*.tmp", "plan-*.tsv", "running/", "slurm/")  # files of this machine, not for version control


def prepare(folders: Iterable[Path], checked: Iterable[Path]) -> None:
    """Make `folders`, parents first, and check that those in `checked` can be written. Raises: BadResults."""
    for folder in folders:
        with written(folder, ANOTHER):
            try:
                folder.mkdir(exist_ok=True)
            except FileNotFoundError:
                fault = f"{folder} cannot be made: {folder.parent} is missing; make it, or correct the path"
                raise BadResults(fault) from None
            except (FileExistsError, NotADirectoryError):
                fault = f"{folder} cannot be a folder: the path or a parent is a file; use another path"
                raise BadResults(fault) from None
    for folder in checked:
        _check(folder)


def _check(folder: Path) -> None:
    """Write and remove a file; remove temporary files that are old by the clock of the disk. Raises: BadResults."""
    probe = folder / f".probe.{uuid.uuid4().hex}.tmp"
    with written(folder, ANOTHER):
        try:
            with probe.open("xb") as file:
                file.write(PROBE)
                file.flush()
                os.fsync(file.fileno())
            now = probe.stat().st_mtime
        finally:
            probe.unlink(missing_ok=True)
        for path in folder.glob(".*.tmp"):
            with contextlib.suppress(FileNotFoundError):  # another worker may be tidying up too
                if now - path.lstat().st_mtime > ABANDONED:  # a link is removed, never what it names
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def hide(folder: Path) -> None:
    """Write a `.gitignore` for files of this machine, unless the folder has one."""
    text = "".join(f"{line}\n" for line in ("# of this machine", *(f"/{name}" for name in HIDDEN)))
    with contextlib.suppress(OSError), (folder / ".gitignore").open("x", encoding="utf-8") as file:
        file.write(text)
