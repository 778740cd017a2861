"""A folder's records in one file, `records.zip`, which is read and never changed.

Its members are the folder's own files, byte for byte: `runs/KEY.json`, and of such records as were chosen
`items/KEY.npz`. Unpacking it into the folder gives what was packed; it says nothing that they do not say.
"""

from __future__ import annotations

import io
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from cseb.data.bounded import open_regular
from cseb.errors import BadData, BadResults
from cseb.text import plain

NAME = "records.zip"
MEMBER = re.compile(r"runs/[0-9a-f]{16}\.json|items/[0-9a-f]{16}\.npz")
LEVEL = 9  # of zlib: records shrink to a third, similarities to four fifths
EPOCH = (1980, 1, 1, 0, 0, 0)  # the time of every member: the same records give the same bytes


@dataclass(frozen=True, slots=True, eq=False)
class Archive:
    """Members by name. modified, inode: of the file, which change when it does."""

    path: Path
    members: Mapping[str, zipfile.ZipInfo]
    modified: int
    inode: int

    @classmethod
    def of(cls, folder: Path) -> Archive | None:
        """That of a folder of records, None where it has none. Raises: BadResults for one that cannot be read."""
        path = folder / NAME
        try:
            found = os.stat(path)  # noqa: PTH116 (once for each record)
        except OSError:
            return None
        return cls(
            path, _members(path, found.st_size, found.st_mtime_ns, found.st_ino), found.st_mtime_ns, found.st_ino
        )

    def __contains__(self, name: str) -> bool:
        return name in self.members

    def names(self) -> set[str]:
        """File names of the records, such as KEY.json."""
        return {name.removeprefix("runs/") for name in self.members if name.startswith("runs/")}

    def read(self, name: str, limit: int) -> bytes:
        """The content of a member of at most so many bytes. Raises: BadResults."""
        member, shown = self.members[name], f"{plain(str(self.path))}, {name},"
        if member.file_size > limit:
            raise BadResults(f"{shown} unpacks to {member.file_size} bytes, at most {limit}")
        try:
            with open_regular(self.path) as file:
                content = _unpacked(file, member)
        except BadData as error:
            raise BadResults(str(error)) from None
        except (OSError, zlib.error, struct.error, ValueError) as error:
            raise BadResults(f"{shown} cannot be read: {error}; get the archive again") from error
        return content

    def member_stamp(self, name: str) -> tuple[int, int, int, int]:
        """What changes when a record, by its file name, or the archive does."""
        member = self.members[f"runs/{name}"]
        return member.CRC, self.modified, self.inode, member.header_offset


@lru_cache(maxsize=8)
def _members(path: Path, *_stamp: int) -> Mapping[str, zipfile.ZipInfo]:
    """Read once as long as the file stays as it is. Raises: BadResults."""
    try:
        with open_regular(path) as file, zipfile.ZipFile(file) as archive:
            listed = archive.infolist()
    except BadData as error:
        raise BadResults(str(error)) from None
    except Exception as error:  # zipfile answers damaged bytes with half a dozen different exceptions
        raise BadResults(f"{plain(str(path))} cannot be read: {plain(str(error))}; get the archive again") from error
    members = {one.filename: one for one in listed}
    strange = [name for name in members if not MEMBER.fullmatch(name)]
    if strange or len(members) < len(listed):
        what = f"holds {plain(strange[0])!r}" if strange else "holds a member twice"
        raise BadResults(
            f"{plain(str(path))} {what}; only runs/KEY.json and items/KEY.npz belong there, once each: "
            "make it again with cseb archive"
        )
    return members


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


def packed(members: Iterable[tuple[str, bytes]]) -> bytes:
    """An archive of these members, by name; the same ones give the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, content in members:
            member = zipfile.ZipInfo(name, EPOCH)
            member.create_system, member.external_attr = 3, 0o644 << 16  # as on Unix, wherever it is made
            file.writestr(member, content, zipfile.ZIP_DEFLATED, LEVEL)
    return buffer.getvalue()
