"""Write output where the user asks: atomically to files, directly to devices and FIFOs, through links."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tarfile
import time
import uuid
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from cseb.errors import BadData

READER = 5.0  # seconds that a reader of a FIFO is waited for
LINKS = 40  # that lead from one to the next; as many as Linux follows


def write_whole(path: Path, pieces: Iterable[bytes | bytearray]) -> None:
    """Write the pieces in order; a file is written atomically and its folder is created.

    A device, a FIFO or a descriptor of this process (/dev/stdout) is written into and stays what it is; a link stays,
    and what it names is replaced. Raises: OSError.
    """
    descriptor, target = _followed(path)
    if descriptor is not None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.writelines(pieces)
        return
    try:
        found = target.stat()
    except FileNotFoundError:
        found = None
    if found is not None and not stat.S_ISREG(found.st_mode):
        _into(target, found.st_mode, pieces)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{uuid.uuid4().hex}.tmp")  # same folder: renaming across disks is not atomic
    try:
        with part.open("xb") as file:
            file.writelines(pieces)
        if found is not None:
            part.chmod(stat.S_IMODE(found.st_mode))
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def write_beside(path: Path, content: bytes) -> None:
    """As `write_whole`, but only into an existing folder, so that a typing error creates none. Raises: OSError."""
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    write_whole(path, [content])


def regular(path: Path) -> bool:
    """Return whether `write_whole` leaves a file of this name, beside which others may lie."""
    try:
        descriptor, target = _followed(path)
        return descriptor is None and (not target.exists() or target.is_file())
    except OSError:
        return True


def _followed(path: Path) -> tuple[int | None, Path]:
    """Return the descriptor of this process that a path stands for, if it does; and where links lead. Raises: OSError.

    Link by link: what /proc calls a descriptor's file may be gone or have another name, and is not what a shell has
    opened for us.
    """
    for _ in range(LINKS):
        if not path.is_symlink():
            return None, path
        if path.name.isdecimal() and os.path.realpath(path.parent) == f"/proc/{os.getpid()}/fd":
            return int(path.name), path
        path = path.parent / path.readlink()
    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))


def _into(path: Path, kind: int, pieces: Iterable[bytes | bytearray]) -> None:
    """Write to something other than a regular file, without blocking for ever on a missing reader. Raises: OSError."""
    if stat.S_ISDIR(kind):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if stat.S_ISSOCK(kind):
        raise OSError(errno.ENXIO, "it is a socket", str(path))
    until = time.monotonic() + READER
    while True:
        try:
            opened = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOCTTY)
            break
        except OSError as error:
            if error.errno != errno.ENXIO or not stat.S_ISFIFO(kind):
                raise
            if time.monotonic() > until:
                raise OSError(errno.ENXIO, "it has no reader", str(path)) from None
        time.sleep(0.05)
    with suppress(OSError):  # some devices know no such mode
        os.set_blocking(opened, True)
    with os.fdopen(opened, "wb", buffering=0) as file:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[file.write(rest) :]


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A new folder to fill; then it appears as `folder`, complete or not at all. One that came first wins.

    Raises: OSError.
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
    """Unpack the archive into `folder`, atomically. Raises: BadData."""
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
