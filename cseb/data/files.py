"""Write output where the user asks: files atomically, devices and FIFOs directly, folders checked first."""

from __future__ import annotations

import contextlib
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

from cseb.errors import BadData, BadResults, first_line
from cseb.text import plain

FULL = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def written(path: str | Path, advice: str = "name another place") -> Iterator[None]:
    """Raise BadResults in place of an OSError: `path` cannot be written, and what to do then."""
    try:
        yield
    except OSError as error:
        reason, space = error.strerror or first_line(error), "free some space, or " if error.errno in FULL else ""
        raise BadResults(f"{plain(str(path))} cannot be written: {reason}; {space}{advice}") from error


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
    """Write as `write_whole`, but only into an existing folder: a typing error creates none. Raises: BadResults."""
    with written(path, "make its folder, or take another"):
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
def whole_folder(folder: Path, replaced: bool = False) -> Iterator[Path]:
    """Yield a new folder to fill, which then appears as `folder`, complete or not at all.

    If there is a `folder` by then, it is replaced; or it stays, written by another process. Raises: OSError.
    """
    folder = Path(os.path.realpath(folder))  # what a link leads to is replaced, not the link
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.tmp")
    try:
        part.mkdir(parents=True)
        yield part
        if replaced and folder.is_dir():
            shutil.rmtree(folder)
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
