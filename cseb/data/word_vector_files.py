"""Files of word vectors as GloVe and word2vec write text: a word and its numbers a line, perhaps gzipped."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import open_regular
from cseb.errors import BadData, first_line
from cseb.text import quantity

WIDEST = 16_384  # numbers a word
LONGEST = 1 << 20  # bytes a line
LARGEST = 1e15  # beyond, sums of squares leave the range of 32-bit numbers
PACKED = 50  # times that a gzipped file may grow; vectors as text shrink to a third or a half

Vectors = npt.NDArray[np.float32]


def look_up(path: Path, width: int, wanted: set[str]) -> dict[str, Vectors]:
    """Vectors (D,) of those of these words that a file has, in one pass; of a word that stands there twice the first.

    Raises: BadData.
    """
    return _chosen(path, width, wanted.__contains__)


def table(path: Path, keep: Callable[[str], bool]) -> tuple[list[str], Vectors]:
    """Return the words of a file that `keep` says and their vectors (N, D), in its order. Raises: BadData."""
    found = _chosen(path, width := width_of(path), keep)
    return list(found), np.stack(list(found.values())) if found else np.zeros((0, width), dtype=np.float32)


def _chosen(path: Path, width: int, keep: Callable[[str], bool]) -> dict[str, Vectors]:
    found: dict[str, Vectors] = {}
    for number, line in _lines(path):
        word, _, numbers = line.partition(" ")
        if keep(word) and word not in found:
            found[word] = _vector(path, number, numbers, width)
    return found


def width_of(path: Path) -> int:
    """How many numbers stand behind the first word. Raises: BadData if none do."""
    number, line = next(_lines(path), (1, ""))
    width = len(line.split()) - 1
    if width < 2:
        raise BadData(f"word vectors {path}: line {number} is not a word and its vector; is it GloVe's text format?")
    if width > WIDEST:
        raise BadData(
            f"word vectors {path}: line {number} holds a vector of {width:,} dimensions; at most {WIDEST:,} are allowed"
        )
    _vector(path, number, line.partition(" ")[2], width)
    return width


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines with their numbers; word2vec's first line, the counts of words and columns, is left out."""
    try:
        with open_regular(path) as file:
            packed = path.suffix == ".gz"
            stream = gzip.GzipFile(fileobj=file) if packed else file
            most = PACKED * max(os.fstat(file.fileno()).st_size, LONGEST)
            for number in count(1):
                raw = stream.readline(LONGEST + 1)
                if not raw:
                    break
                most -= len(raw) * packed
                if len(raw) > LONGEST:
                    raise BadData(f"word vectors {path}: line {number} is longer than {LONGEST:,} bytes")
                if most < 0:
                    raise BadData(f"word vectors {path}: it decompresses to more than {PACKED} times its size")
                line = raw.decode("utf-8", errors="replace").rstrip()
                if line and not (number == 1 and re.fullmatch(r"\d+ \d+", line)):
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise BadData(f"word vectors {path} cannot be read: {first_line(error)}") from None


def _vector(path: Path, number: int, text: str, width: int) -> Vectors:
    try:
        found = np.array(text.split(), dtype=np.float64)
    except ValueError:
        found = np.zeros(0, dtype=np.float64)
    if len(found) != width or not (np.abs(found) <= LARGEST).all():
        raise BadData(
            f"word vectors {path}: line {number} is not a word and {quantity(width, 'finite number')} of at most "
            f"{LARGEST:g}"
        )
    return found.astype(np.float32)
