"""Check a data file against the manifest: rows and hash."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cseb.data.manifest import DataFile
from cseb.data.readers import LONGEST_FIELD
from cseb.text import quantity


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Result of checking one file. rows: -1 where they cannot be counted; sha256: "" for a file that is not there."""

    file: DataFile
    path: Path | None
    state: Literal["ok", "missing", "wrong"]
    message: str
    rows: int = -1
    sha256: str = ""


def check(file: DataFile, path: Path | None) -> FileCheck:
    """Compare the file at `path`, if any, with the manifest."""
    expected = quantity(file.rows, "row")
    if path is None:
        return FileCheck(file, None, "missing", f"{expected} expected")
    try:
        content = path.read_bytes()
    except OSError as error:
        return FileCheck(file, path, "wrong", f"cannot be read: {error.strerror}")
    rows, sha256 = count(file, content), hashlib.sha256(content).hexdigest()
    broken = [
        copy.means for copy in file.broken if copy.rows == rows or any(sign.encode() in content for sign in copy.holds)
    ]
    ok = sha256 == file.sha256 or not (file.sha256 or broken or rows != file.rows)
    if rows == -1:
        message = f"not a valid {file.format} file; {expected} expected"
    elif rows != file.rows:
        message = ": ".join([f"{quantity(rows, 'row')}, {file.rows:,} expected", *broken[:1]])
    elif ok:
        message = expected if file.sha256 else f"{expected}, hash {sha256[:12]} (none in the manifest)"
    else:
        known = broken[0] if broken else "another text, label, line end or byte order mark"
        message = f"{expected} as expected, but {known}; sha256 {sha256[:12]}, expected {file.sha256[:12]}"
    return FileCheck(file, path, "ok" if ok else "wrong", message, rows, sha256)


def count(file: DataFile, content: bytes) -> int:
    """Return the number of rows of a file in its format, blank ones included; -1 if it is not of that format."""
    if file.format == "xml":
        return len(re.findall(rb"<%s[\s>]" % file.element.encode(), content, re.IGNORECASE))
    if file.format == "csv":
        csv.field_size_limit(LONGEST_FIELD)
        text = io.StringIO(content.decode("utf-8-sig", "replace"), newline="")
        try:
            return max(0, sum(1 for row in csv.reader(text, strict=True) if row) - file.header)
        except csv.Error:
            return -1
    return max(0, len(content.removesuffix(b"\n").split(b"\n")) - file.header) if content else 0
