"""Archived records: zip files in a folder of results, which are never changed.

`records.zip.xz`, `records-2.zip.xz`, ... have records, compressed together since they repeat each other; `items.zip`,
`items-2.zip`, ... have scores per example. Members are the files of the folder, byte for byte: `runs/KEY.json` and, for
some records, `items/KEY.npz`. New records go into further archives; no member is in two.
"""

from __future__ import annotations

import io
import lzma
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from cseb.data.bounded import LARGEST, read_bytes
from cseb.errors import BadData, BadResults
from cseb.text import plain

NAME = re.compile(r"(?:records|items)(?:-([0-9]+))?\.zip(?:\.xz)?")
UNPACKED = 2**30  # bytes of a zip file inside an .xz file; a thousand records have 20 MB
MEMBER = re.compile(r"runs/[0-9a-f]{16}\.json|items/[0-9a-f]{16}\.npz")


class File(NamedTuple):
    """One archive. Size, time (ns) and inode change when it is replaced."""

    path: Path
    size: int
    modified: int
    inode: int


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """All archives of a folder. members: by name, the archive that has it."""

    files: tuple[File, ...]
    members: Mapping[str, File]

    @classmethod
    def of(cls, folder: Path) -> Archive | None:
        """Return the archives of a folder of results; None if it has none. Raises: BadResults for a damaged one."""
        numbered = sorted(
            (int(name[1] or 1), path) for path in folder.glob("*.zip*") if (name := NAME.fullmatch(path.name))
        )
        if not numbered:
            return None
        status = [(path, path.stat()) for _, path in numbered]
        files = tuple(File(path, stat.st_size, stat.st_mtime_ns, stat.st_ino) for path, stat in status)
        return cls(files, _members(files))

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def names(self) -> set[str]:
        """Return the file names of the records, such as KEY.json."""
        return {name.removeprefix("runs/") for name in self.members if name.startswith("runs/")}

    def path(self, name: str) -> Path:
        """Return the archive that has a member."""
        return self.members[name].path

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a member of at most `limit` bytes. Raises: BadResults."""
        file = self.members[name]
        archive, shown = _opened(file), f"{plain(str(file.path))}, {name},"
        if (size := archive.getinfo(name).file_size) > limit:
            raise BadResults(f"{shown} unpacks to {size} bytes, at most {limit}")
        try:
            return archive.read(name)
        except Exception as error:  # zipfile raises half a dozen kinds for damaged bytes
            raise BadResults(f"{shown} cannot be read: {plain(str(error))}; get the archive again") from error


@lru_cache(maxsize=8)
def _members(files: tuple[File, ...]) -> Mapping[str, File]:
    """Return the archive of each member. Raises: BadResults."""
    members: dict[str, File] = {}
    for file in files:
        names = _opened(file).namelist()
        strange = [name for name in names if not MEMBER.fullmatch(name)]
        if strange or len(set(names)) < len(names):
            fault = f"has the member {plain(strange[0])!r}" if strange else "has a member twice"
            raise BadResults(
                f"{plain(str(file.path))} {fault}; only runs/KEY.json and items/KEY.npz are allowed, once each: "
                "make it again with benchmarks.archive"
            )
        for name in names:
            if (first := members.setdefault(name, file)) is not file:
                raise BadResults(
                    f"{plain(str(first.path))} and {file.path.name} both have {name}; move {file.path.name} to a "
                    "folder of its own, and add that folder with benchmarks.archive"
                )
    return members


@lru_cache(maxsize=32)
def _opened(file: File) -> zipfile.ZipFile:
    """Return an archive, read into memory. Raises: BadResults."""
    try:
        content = read_bytes(file.path, LARGEST)
        if file.path.suffix == ".xz":
            content = lzma.LZMADecompressor().decompress(content, UNPACKED)
        return zipfile.ZipFile(io.BytesIO(content))
    except BadData as error:
        raise BadResults(str(error)) from None
    except Exception as error:  # zipfile raises half a dozen kinds for damaged bytes
        raise BadResults(
            f"{plain(str(file.path))} cannot be read: {plain(str(error))}; get the archive again"
        ) from error
