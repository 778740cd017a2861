"""Verify a data file: rows, labels and hash, and a description of what is wrong."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cseb.data.manifest import DataFile
from cseb.data.readers import LONGEST_FIELD
from cseb.text import quantity

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class FileCheck:
    """Result of checking one file. rows: -1 where they cannot be counted; sha256: "" for a file that is not there."""

    file: DataFile
    path: Path | None
    state: Literal["ok", "missing", "wrong"]
    message: str
    rows: int = -1
    sha256: str = ""


def check(one: DataFile, path: Path | None) -> FileCheck:
    """Compare the file at `path`, if any, with the manifest."""
    if path is None:
        return FileCheck(one, None, "missing", f"{quantity(one.rows, 'row')} expected")
    try:
        content = path.read_bytes()
    except OSError as error:
        return FileCheck(one, path, "wrong", f"cannot be read: {error.strerror}")
    sha256 = hashlib.sha256(content).hexdigest()
    if sha256 == one.sha256:
        return FileCheck(one, path, "ok", f"{quantity(one.rows, 'row')}", one.rows, sha256)
    rows = count(one, content)
    if fault := _fault(one, content, rows):
        return FileCheck(one, path, "wrong", fault, rows, sha256)
    if not one.sha256:
        return FileCheck(
            one, path, "ok", f"{quantity(rows, 'row')}, hash {sha256[:12]} (none in the manifest)", rows, sha256
        )
    hashes = f"sha256 {sha256[:12]}, expected {one.sha256[:12]}"
    message = f"{quantity(rows, 'row')} as expected, but {_difference(one, content)}; {hashes}"
    return FileCheck(one, path, "wrong", message, rows, sha256)


def count(one: DataFile, content: bytes) -> int:
    """Rows of the file as its format has them, blank ones included; -1 if it is not of that format."""
    if one.format == "xml":
        return len(re.findall(rb"<%s[\s>]" % one.element.encode(), content, re.IGNORECASE))
    if one.format == "csv":
        csv.field_size_limit(LONGEST_FIELD)
        text = content.decode("utf-8-sig", "replace")
        try:
            return max(0, sum(1 for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row) - one.header)
        except csv.Error:
            return -1
    return max(0, len(_lines(content)) - one.header)


def _lines(content: bytes) -> list[bytes]:
    lines = content.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def _fault(one: DataFile, content: bytes, rows: int) -> str:
    """Why the file is unusable, "" if its rows are right and nothing is known against it."""
    known = [each.means for each in one.broken if each.rows == rows or any(c.encode() in content for c in each.holds)]
    if rows == -1:
        return f"not a valid {one.format} file; {quantity(one.rows, 'row')} expected"
    if rows != one.rows:
        return f"{quantity(rows, 'row')}, {one.rows:,} expected{': ' + known[0] if known else ''}"
    return f"{quantity(rows, 'row')} as expected, but {known[0]}" if known else ""


def _difference(one: DataFile, content: bytes) -> str:
    """How a file with the right number of rows may differ, as far as that can be told without the original."""
    bare = content.removeprefix(BOM)
    lf = bare.replace(b"\r\n", b"\n")
    ends = {lf, lf.replace(b"\n", b"\r\n")}
    variants = {
        mark + text.rstrip(b"\r\n") + end for text in ends for mark in (b"", BOM) for end in (b"", b"\n", b"\r\n")
    }
    if any(hashlib.sha256(text).hexdigest() == one.sha256 for text in variants):
        return "other line ends or a byte order mark; the text is the same"
    if one.label_at is not None and (found := labels(one, content)) != dict(one.labels):
        return f"other labels: {_shown(found)}, expected {_shown(one.labels)}"
    if one.rated is not None and (found_rated := sum(bool(line.strip()) for line in _lines(content))) != one.rated:
        return f"{quantity(found_rated, 'rating')}, expected {one.rated:,}"
    return "other text: another tokenisation, order or edition"


def labels(one: DataFile, content: bytes) -> dict[str, int]:
    """How many rows have which label; a row without that column counts under ""."""
    at = one.label_at or 0
    rows = (line.decode("latin-1").split(one.separator) for line in _lines(content.removeprefix(BOM))[one.header :])
    return dict(Counter(cells[at].strip() if at < len(cells) else "" for cells in rows))


def _shown(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{label or 'none'} {number}" for label, number in sorted(counts.items())[:8])
