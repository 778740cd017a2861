"""Real English that comes with cseb under open licences: a corpus, human-labelled tasks, pre-trained encoders.

Data files are text, gzipped; `files.json` has rows and sha256 of each, and `LICENSES` says where each is from.
`python -m benchmarks.open_data` makes them again from their sources.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import zlib
from functools import cache
from pathlib import Path

from cseb.errors import BadData, first_line

FOLDER = Path(__file__).parent
ENCODERS = FOLDER / "encoders"
AGAIN = "install cseb again"

__all__ = ["AGAIN", "ENCODERS", "FOLDER", "lines", "table"]


def table(name: str, columns: int) -> list[list[str]]:
    """Return the rows of `tasks/NAME.tsv`, each of so many texts. Raises: BadData."""
    return [line.split("\t", columns - 1) for line in lines(f"tasks/{name}.tsv")]


def lines(name: str) -> list[str]:
    """The lines of a data file, such as corpora/wikipedia.txt. Raises: BadData unless it is the one cseb came with."""
    path = FOLDER / f"{name}.gz"
    try:
        content = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise BadData(f"{path}, which comes with cseb, cannot be read ({first_line(error)}); {AGAIN}") from None
    if hashlib.sha256(content).hexdigest() != _files()[name]["sha256"]:
        raise BadData(f"{path} is not the file that comes with this version of cseb; {AGAIN}")
    return content.decode().split("\n")[:-1]


@cache
def _files() -> dict[str, dict[str, str | int]]:
    found: dict[str, dict[str, str | int]] = json.loads((FOLDER / "files.json").read_text("utf-8"))
    return found
