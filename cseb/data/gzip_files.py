"""Bounded reading of untrusted gzip files: decompression stops at a ratio that text does not reach."""

from __future__ import annotations

import gzip
import io
import os
from pathlib import Path
from typing import BinaryIO

from cseb.data.bounded import MIB, open_regular, shown
from cseb.errors import BadData

UNPACKED = 1024 * MIB  # bytes that a .gz file may hold; larger ones can be unpacked by hand
SMALL = 4 * MIB  # bytes that it may hold whatever its own size
RATIO = 30  # times its own size; text shrinks to a fifth, a bomb to a thousandth
PIECE = 2**16


class _Bounded(io.RawIOBase):
    """Decompressed stream of a .gz file with a size limit. Raises: BadData while it is read."""

    def __init__(self, path: Path, file: BinaryIO, largest: int) -> None:
        packed = os.fstat(file.fileno()).st_size
        self._path, self._left = path, min(largest, max(SMALL, RATIO * packed))
        self._file, self._unpacked = file, gzip.GzipFile(fileobj=file, mode="rb")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # of bytes, as BufferedReader has it
        piece = self._unpacked.read(min(len(buffer), PIECE))
        self._left -= len(piece)
        if self._left < 0:
            raise BadData(
                f"{shown(self._path)} decompresses to more than a .gz file of its size should; unpack it if genuine"
            )
        buffer[: len(piece)] = piece
        return len(piece)

    def close(self) -> None:
        self._unpacked.close()
        self._file.close()
        super().close()


def open_unpacked(path: Path, largest: int | None = None) -> io.BufferedIOBase:
    """Open a regular file for reading bytes, unpacked if its name ends in .gz.

    largest: Bytes that it may unpack to, UNPACKED by default. Raises: BadData, also while it is read.
    """
    file = open_regular(path)
    if not path.name.lower().endswith(".gz"):
        return file
    return io.BufferedReader(_Bounded(path, file, largest or UNPACKED), PIECE)
