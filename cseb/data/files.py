"""Writing a file or a folder so that nobody ever sees half of it."""

from __future__ import annotations

import shutil
import tarfile
import uuid
import zlib
from collections.abc import Iterable
from pathlib import Path

from cseb.errors import BadData


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


def unpacked(archive: Path, folder: Path) -> Path:
    """`folder`, with the content of the archive; it appears complete or not at all. Raises: BadData."""
    if folder.is_dir():
        return folder
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    try:
        with tarfile.open(archive) as tar:
            tar.extractall(part, filter="data")
        part.rename(folder)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        if not folder.is_dir():  # otherwise another process was faster
            raise BadData(f"{archive} cannot be unpacked into {folder}: {error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return folder
