"""Bounded reading of untrusted files: regular files only, with limits on size and nesting depth."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import yaml

from cseb.errors import BadData, first_line

MIB = 1 << 20
LARGEST = 1024 * MIB  # bytes of a text file that is read at once
DEPTH = 64  # brackets inside brackets; configurations, tokenizers and task files have fewer than ten
SHOWN = 200  # characters of a path in a message
UNPACKED = 1024 * MIB  # bytes that a .gz file may hold; larger ones can be unpacked by hand
SMALL = 4 * MIB  # bytes that it may hold whatever its own size
RATIO = 30  # times its own size; text shrinks to a fifth, a bomb to a thousandth
PIECE = 2**16
ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Raise BadData in place of an OSError: `path` cannot be read."""
    try:
        yield
    except OSError as error:
        raise _unreadable(path, error) from None


def open_regular(path: Path) -> io.BufferedReader:
    """Open a regular file for reading bytes; anything else is refused without blocking. Raises: BadData.

    A FIFO would wait for its writer and a device such as /dev/zero never ends. What is opened is what is examined, so
    that nothing can be put in its place in between.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise _unreadable(path, error) from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise BadData(f"{shown(path)} is a folder, device or pipe; a regular file is needed")
    os.set_blocking(descriptor, True)
    return os.fdopen(descriptor, "rb")


def open_unpacked(path: Path, largest: int | None = None) -> io.BufferedIOBase:
    """Open a regular file for reading bytes, unpacked if its name ends in .gz.

    largest: Bytes that it may unpack to, UNPACKED by default. Raises: BadData, also while it is read.
    """
    file = open_regular(path)
    if not path.name.lower().endswith(".gz"):
        return file
    return io.BufferedReader(_Bounded(path, file, largest or UNPACKED), PIECE)


def read_bytes(path: Path, limit: int = MIB) -> bytes:
    """Return all bytes of a regular file of at most `limit` bytes. Raises: BadData."""
    with readable(path), open_regular(path) as file:
        content = file.read(limit + 1)
    if len(content) > limit:
        raise BadData(f"{shown(path)} is larger than {limit:,} bytes, the limit for such a file")
    return content


def file_sha256(path: Path) -> str:
    """Return the sha256 of a regular file. Raises: BadData."""
    with readable(path), open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_text(path: Path, limit: int = MIB) -> str:
    """Return the text of a regular file in UTF-8 of at most `limit` bytes. Raises: BadData."""
    try:
        return read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadData(f"{shown(path)} cannot be read: not UTF-8 at byte {error.start}") from None


def read_lines(path: Path) -> list[str]:
    """Return the lines of a text file, however they end; after the last end there is an empty one. Raises: BadData."""
    return read_text(path, LARGEST).replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_json(path: Path, limit: int = MIB) -> Any:
    """Parse a JSON file of at most `limit` bytes and at most DEPTH levels. Raises: BadData."""
    return parse_json(read_bytes(path, limit), shown(path))


def read_object(path: Path, limit: int = MIB) -> dict[str, Any]:
    """Parse a JSON file whose top level must be an object. Raises: BadData."""
    value = read_json(path, limit)
    if not isinstance(value, dict):
        raise BadData(f"{shown(path)} holds {kind_of(value)}; a JSON object is needed")
    return value


def parse_json(content: bytes, name: str) -> Any:
    """Parse JSON of at most DEPTH levels; `name` is used in messages. Raises: BadData."""
    try:
        value = json.loads(content.decode("utf-8"))
        if ESCAPED_SURROGATE.search(content):  # unescaped ones are no UTF-8
            json.dumps(value, ensure_ascii=False).encode()
        if _depth_exceeds(value, DEPTH):
            raise RecursionError
    except UnicodeEncodeError:
        raise BadData(f"{name} holds an unpaired surrogate, which is not valid Unicode text") from None
    except UnicodeDecodeError as error:
        raise BadData(f"{name} is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BadData(f"{name} has brackets inside brackets more than {DEPTH} levels deep") from None
    except ValueError as error:  # no JSON, or a number of thousands of digits
        raise BadData(f"{name} is not JSON: {first_line(error)}") from None
    return value


def shown(path: Path) -> str:
    """Return a path as messages show it: on one line, shortened."""
    text = str(path)
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}…{text[-SHOWN // 2 :]}"


def is_file(path: str | Path) -> bool:
    """Return whether the path is a file or a link to one; an overlong name is False, not an error."""
    return os.path.isfile(path)  # noqa: PTH113 (Path's own raises on such names)


def is_dir(path: str | Path) -> bool:
    """Return whether the path is a folder or a link to one; an overlong name is False, not an error."""
    return os.path.isdir(path)  # noqa: PTH112


def kind_of(value: object) -> str:
    """Return the JSON type of a value, for messages."""
    kinds: dict[type, str] = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    return "nothing" if value is None else kinds.get(type(value), "a number")


def _depth_exceeds(value: object, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        inner = [
            value.values() if isinstance(value, dict) else value for value in level if isinstance(value, dict | list)
        ]
        level = [value for values in inner for value in values]
    return bool(level)


def _unreadable(path: Path, error: Exception) -> BadData:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
    return BadData(f"{shown(path)} cannot be read: {reason}")


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


LONGEST = 1 << 17  # bytes; a benchmark has some two thousand


class _Loader(yaml.SafeLoader):
    """A loader that refuses aliases and keys that are there twice."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not allowed; write the value again")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in seen:
                raise yaml.YAMLError(f"{key.value} is there twice, again in line {key.start_mark.line + 1}; keep one")
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path: Path) -> object:
    """Return the content of a YAML file: mappings, lists, texts, numbers. Raises: BadData."""
    try:
        return yaml.load(read_bytes(path, LONGEST).decode(), _Loader)  # noqa: S506 (it is a safe loader)
    except RecursionError:
        raise BadData(f"{shown(path)}: not readable as YAML: brackets inside brackets") from None
    except (yaml.YAMLError, ValueError, OverflowError, TypeError, AttributeError) as error:
        text = " ".join(str(error).split())[:200] or type(error).__name__
        raise BadData(f"{shown(path)}: not readable as YAML: {text}") from None
