"""Write output where the user asks: files atomically, devices and FIFOs directly."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tarfile
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from cseb.errors import BadData


def write_whole(path: Path, pieces: Iterable[bytes | bytearray]) -> None:
    """Write the pieces in order; a file is written atomically and its folder is created.

    A device or a FIFO is written into, and so is /dev/stdout. A link stays; the file that it names is replaced.
    Raises: OSError.
    """
    if not regular(path):
        with path.open("ab", buffering=0) as file:  # not truncated: /dev/stdout may be a file
            for piece in pieces:
                unwritten = memoryview(piece)
                while unwritten:
                    unwritten = unwritten[file.write(unwritten) :]
        return
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{uuid.uuid4().hex}.tmp")  # same folder: renaming across disks is not atomic
    try:
        with part.open("xb") as file:
            file.writelines(pieces)
        if target.exists():
            part.chmod(stat.S_IMODE(target.stat().st_mode))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_beside(path: Path, content: bytes) -> None:
    """Write as `write_whole`, but only into an existing folder: a typing error creates none. Raises: OSError."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    write_whole(path, [content])


def regular(path: Path) -> bool:
    """Return whether `write_whole` leaves a file of this name, beside which others may be written."""
    if str(path).startswith(("/dev/", "/proc/")):
        return False
    try:
        return not stat.S_ISFIFO(mode := path.stat().st_mode) and not stat.S_ISCHR(mode)
    except OSError:
        return True


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield a new folder to fill, which then appears as `folder`, complete or not at all.

    If another process has written `folder` meanwhile, that one stays. Raises: OSError.
    """
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    try:
        part.mkdir(parents=True)
        yield part
        try:
            part.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another process was faster
                raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def unpacked(archive: Path, folder: Path) -> Path:
    """Unpack a tar archive into `folder`, atomically, unless it is there. Raises: BadData."""
    if not folder.is_dir():
        try:
            with whole_folder(folder) as part, tarfile.open(archive) as tar:
                tar.extractall(part, filter="data")
        except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
            raise BadData(f"{archive} cannot be unpacked into {folder}: {error}") from error
    return folder
