"""Writing a file so that nobody ever sees half of it."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from pathlib import Path


def write_whole(path: Path, pieces: Iterable[bytes | bytearray]) -> None:
    """Write the pieces one after another; `path` appears complete or not at all. Raises: OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{uuid.uuid4().hex}")  # same folder: renaming across disks is not atomic
    try:
        with part.open("xb") as file:
            file.writelines(pieces)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
