"""A folder's records in a few files, `records.zip`, `records-2.zip`, ..., which are read and never changed.

Their members are the folder's own files, byte for byte: `runs/KEY.json`, and of such records as were chosen
`items/KEY.npz`. Unpacking them into the folder gives what was packed; they say nothing that the files do not say. More
records go into one more archive, and no member lies in two.
"""

from __future__ import annotations

import os
import re
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import BinaryIO, NamedTuple

from cseb.data.bounded import open_regular
from cseb.errors import BadData, BadResults
from cseb.text import plain

NAME = "records.zip"  # the first
NUMBERED = re.compile(r"records-[0-9]+\.zip")  # the others
MEMBER = re.compile(r"runs/[0-9a-f]{16}\.json|items/[0-9a-f]{16}\.npz")


class File(NamedTuple):
    """One archive. Size, time (ns) and inode change when it does."""

    path: Path
    size: int
    modified: int
    inode: int


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """What a folder's archives hold together. members: by name, each with the file that it lies in."""

    files: tuple[File, ...]
    members: Mapping[str, tuple[File, zipfile.ZipInfo]]

    @classmethod
    def of(cls, folder: Path) -> Archive | None:
        """That of a folder of records, None where it has none. Raises: BadResults for one that cannot be read."""
        files = _files(folder)
        return cls(files, _members(files)) if files else None

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def names(self) -> set[str]:
        """File names of the records, such as KEY.json."""
        return {name.removeprefix("runs/") for name in self.members if name.startswith("runs/")}

    def path(self, name: str) -> Path:
        """The file that a member lies in."""
        return self.members[name][0].path

    def read(self, name: str, limit: int) -> bytes:
        """The content of a member of at most so many bytes. Raises: BadResults."""
        path, member = self.path(name), self.members[name][1]
        shown = f"{plain(str(path))}, {name},"
        if member.file_size > limit:
            raise BadResults(f"{shown} unpacks to {member.file_size} bytes, at most {limit}")
        try:
            with open_regular(path) as file:
                content = _unpacked(file, member)
        except BadData as error:
            raise BadResults(str(error)) from None
        except (OSError, zlib.error, struct.error, ValueError) as error:
            raise BadResults(f"{shown} cannot be read: {error}; get the archive again") from error
        return content


def name_of(number: int) -> str:
    """The file name of a folder's first, second, ... archive."""
    return NAME if number == 1 else f"records-{number}.zip"


def refuse_gap(folder: Path) -> None:
    """For whoever reads or packs a whole folder: an archive after a missing number would be left out unseen.

    Raises: BadResults.
    """
    held = {file.path.name for file in _files(folder)}
    try:
        others = sorted(name for name in os.listdir(folder) if NUMBERED.fullmatch(name) and name not in held)  # noqa: PTH208
    except OSError:  # no folder, no archive
        return
    if others:
        missing = name_of(len(held) + 1)
        raise BadResults(
            f"{plain(str(folder))} has {others[0]} but no {missing}; archives are numbered without a gap: "
            f"get the missing one, or call the other {missing}"
        )


def _files(folder: Path) -> tuple[File, ...]:
    """The archives of a folder, in order. Once for each record, so that names are tried, not listed."""
    found: list[File] = []
    for number in count(1):
        path = folder / name_of(number)
        try:
            stat = os.stat(path)  # noqa: PTH116 (a third of the time)
        except OSError:
            break
        found.append(File(path, stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return tuple(found)


@lru_cache(maxsize=8)
def _members(files: tuple[File, ...]) -> Mapping[str, tuple[File, zipfile.ZipInfo]]:
    """Read once as long as all files stay as they are. Raises: BadResults."""
    members: dict[str, tuple[File, zipfile.ZipInfo]] = {}
    for file in files:
        for member in _members_of(file.path):
            first, _ = members.setdefault(member.filename, (file, member))
            if first is not file:
                raise BadResults(
                    f"{plain(str(first.path))} and {file.path.name} both hold {member.filename}; move {file.path.name} "
                    f"to another folder, call it {NAME} there, and add that folder with benchmarks.archive"
                )
    return members


def _members_of(path: Path) -> list[zipfile.ZipInfo]:
    """The list at the end of one archive. Raises: BadResults."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
    except BadData as error:
        raise BadResults(str(error)) from None
    except Exception as error:  # zipfile answers damaged bytes with half a dozen different exceptions
        raise BadResults(f"{plain(str(path))} cannot be read: {plain(str(error))}; get the archive again") from error
    names = {one.filename for one in listed}
    strange = [one.filename for one in listed if not MEMBER.fullmatch(one.filename)]
    if strange or len(names) < len(listed):
        what = f"holds {plain(strange[0])!r}" if strange else "holds a member twice"
        raise BadResults(
            f"{plain(str(path))} {what}; only runs/KEY.json and items/KEY.npz belong there, once each: "
            "make it again with benchmarks.archive"
        )
    return listed


def _unpacked(file: BinaryIO, member: zipfile.ZipInfo) -> bytes:
    """A member's content, without the list of all others being read again. Raises: ValueError and others if damaged."""
    file.seek(member.header_offset)
    head = file.read(30)  # its last four bytes: the lengths of the name and of what else lies before the content
    file.seek(sum(struct.unpack("<HH", head[26:])), os.SEEK_CUR)
    content = file.read(member.compress_size)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(content, member.file_size + 1)
    elif member.compress_type != zipfile.ZIP_STORED:
        raise ValueError("neither deflated nor stored")
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError("its checksum is another one")
    return content
