"""Bounded reading of untrusted files: regular files only, with limits on size and nesting depth."""

from __future__ import annotations

import json
import os
import re
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any

from cseb.errors import BadData, first_line

MIB = 1 << 20
LARGEST = 1024 * MIB  # bytes of a text file that is read at once
DEPTH = 64  # brackets inside brackets; configurations, tokenizers and task files have fewer than ten
SHOWN = 200  # characters of a path in a message
ESCAPED_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


def open_regular(path: Path) -> BufferedReader:
    """Open a regular file for reading bytes; anything else is refused without blocking. Raises: BadData.

    A FIFO would wait for its writer and a device such as /dev/zero never ends. What is opened is what is examined, so
    that nothing can be put in its place in between.
    """
    try:
        found = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        raise _unreadable(path, error) from None
    try:
        kind = os.fstat(found).st_mode
        if not stat.S_ISREG(kind):
            raise BadData(f"{shown(path)} is {_named(kind)}; a regular file is needed")
        os.set_blocking(found, True)
        return os.fdopen(found, "rb")
    except BaseException:
        os.close(found)
        raise


def read_bytes(path: Path, limit: int = MIB) -> bytes:
    """Return all bytes of a regular file of at most `limit` bytes. Raises: BadData."""
    try:
        with open_regular(path) as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise _unreadable(path, error) from None
    if len(content) > limit:
        raise BadData(f"{shown(path)} is larger than {limit:,} bytes, the limit for such a file")
    return content


def read_text(path: Path, limit: int = MIB) -> str:
    """Return the text of a regular file in UTF-8 of at most `limit` bytes. Raises: BadData."""
    return _decoded(path, read_bytes(path, limit))


def read_lines(path: Path, limit: int = LARGEST) -> list[str]:
    """Return the lines of a text file, however they end; after the last end there is an empty one. Raises: BadData."""
    try:
        text = read_bytes(path, limit).decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadData(f"{shown(path)} cannot be read: not UTF-8 at byte {error.start}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def read_json(path: Path, limit: int = MIB) -> Any:
    """Parse a JSON file of at most `limit` bytes and at most DEPTH levels. Raises: BadData."""
    content = read_bytes(path, limit)
    return parse_json(content, shown(path))


def read_object(path: Path, limit: int = MIB) -> dict[str, Any]:
    """Parse a JSON file whose top level must be an object. Raises: BadData."""
    found = read_json(path, limit)
    if not isinstance(found, dict):
        raise BadData(f"{shown(path)} holds {kind_of(found)}; a JSON object is needed")
    return found


def parse_json(content: bytes, name: str) -> Any:
    """As `read_json`, of bytes at hand; `name` says in messages whose they are. Raises: BadData."""
    try:
        value = json.loads(content.decode("utf-8"))
        if ESCAPED_SURROGATE.search(content):  # as UTF-8 there are none: decoding would have failed
            json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadData(f"{name} holds an unpaired surrogate, which is not valid Unicode text") from None
    except UnicodeDecodeError as error:
        raise BadData(f"{name} is not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise BadData(_too_deep(name)) from None
    except ValueError as error:  # no JSON, or a number of thousands of digits
        raise BadData(f"{name} is not JSON: {first_line(error)}") from None
    _shallow(value, name)
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


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadData(f"{shown(path)} is not UTF-8 at byte {error.start}") from None


def _shallow(value: object, name: str) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [
            child
            for outer in level
            if isinstance(outer, dict | list)
            for child in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return
    raise BadData(_too_deep(name))


def _too_deep(name: str) -> str:
    return f"{name} has brackets inside brackets more than {DEPTH} levels deep; files of this kind are flatter"


def _unreadable(path: Path, error: Exception) -> BadData:
    reason = error.strerror if isinstance(error, OSError) and error.strerror else first_line(error)
    return BadData(f"{shown(path)} cannot be read: {reason}")


def _named(kind: int) -> str:
    kinds = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a FIFO (named pipe)",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return kinds.get(stat.S_IFMT(kind), "not a regular file")
