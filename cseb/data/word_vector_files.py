"""Files of word vectors in the text format of GloVe and word2vec: a word and its numbers a line, perhaps gzipped."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.gzip_files import open_unpacked
from cseb.errors import BadData, first_line
from cseb.text import quantity

WIDEST = 16_384  # numbers a word
LONGEST = 1 << 20  # bytes a line
LARGEST = 1e15  # beyond, sums of squares leave the range of 32-bit numbers
UNPACKED = 1 << 36  # bytes of an unpacked file

Vectors = npt.NDArray[np.float32]


def read_vectors(path: Path, width: int, keep: Callable[[str], bool]) -> dict[str, Vectors]:
    """Return the vectors (D,) of the words that `keep` accepts, in the order of the file; of equal words the first.

    Raises: BadData.
    """
    vectors: dict[str, Vectors] = {}
    for number, line in _lines(path):
        word, _, numbers = line.partition(" ")
        if keep(word) and word not in vectors:
            vectors[word] = _vector(path, number, numbers, width)
    return vectors


def table(path: Path, keep: Callable[[str], bool]) -> tuple[list[str], Vectors]:
    """Return the words that `keep` accepts and their vectors (N, D), in the order of the file. Raises: BadData."""
    vectors = read_vectors(path, width := width_of(path), keep)
    return list(vectors), np.array(list(vectors.values()), dtype=np.float32).reshape(-1, width)


def width_of(path: Path) -> int:
    """Return how many numbers are behind the first word. Raises: BadData if none are."""
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
    """Yield lines with their numbers, without word2vec's first line, the counts of words and columns."""
    try:
        with open_unpacked(path, UNPACKED) as file:
            for number in count(1):
                if not (raw := file.readline(LONGEST + 1)):
                    return
                if len(raw) > LONGEST:
                    raise BadData(f"word vectors {path}: line {number} is longer than {LONGEST:,} bytes")
                line = raw.decode("utf-8", errors="replace").rstrip()
                if line and not (number == 1 and re.fullmatch(r"\d+ \d+", line)):
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise BadData(f"word vectors {path} cannot be read: {first_line(error)}") from None


def _vector(path: Path, number: int, text: str, width: int) -> Vectors:
    try:
        vector = np.array(text.split(), dtype=np.float64)
    except ValueError:
        vector = np.zeros(0, dtype=np.float64)
    if len(vector) != width or not (np.abs(vector) <= LARGEST).all():
        raise BadData(
            f"word vectors {path}: line {number} is not a word and {quantity(width, 'finite number')} of at most "
            f"{LARGEST:g}"
        )
    return vector.astype(np.float32)
