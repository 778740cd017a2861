"""Embedders without weights of their own to load: a user's Python function, or a file of sentences and vectors."""

from __future__ import annotations

import hashlib
import inspect
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import file_sha256
from cseb.embedders.interface import BATCH, Embedder
from cseb.errors import BadData, BadSpec, CsebError, first_line
from cseb.progress import ENCODING, tell
from cseb.records.record import Source
from cseb.tasks.task import Embed, Vectors
from cseb.text import quantity

NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")
PROBE = ("A man is playing a guitar.", "Where can I buy a ticket for the train to the airport?", "no")
TOPICS = (
    "guitar ticket train airport river doctor music winter bread window garden letter market engine horse island "
    "teacher summer coffee mountain football picture bridge hospital kitchen science police village weather money"
)
UNUSUAL = (
    " ".join(topic for topic in TOPICS.split() for _ in range(20)),  # 600 words, whose mean changes wherever it is cut
    "Naïve Großmütter, ΨΥΧΗ, Привет, 東京で会いましょう, مرحبا, नमस्ते, 🙂, x², pneumonoultramicroscopicsilicosis",
)


def find(name: str) -> Embedder:
    """Return the embedder of a function, imported from the current directory or an installed package.

    Its sha256 is that of its module's file and of its vectors for three sentences, a text of 600 words and one of rare
    words, so that changed weights and settings are noticed. Raises: BadSpec.
    """
    return embedder(_function(name), name)


def embedder(function: Callable[[list[str]], Any], name: str) -> Embedder:
    """Return the embedder of a function of a list of strings. Raises: CsebError if it fails on three sentences."""
    probe = _call(function, name, PROBE)
    width = probe.shape[1]

    def embed(sentences: Sequence[str]) -> Vectors:
        vectors = np.zeros((len(sentences), width), dtype=np.float32)
        tell(ENCODING, 0, len(sentences))
        for at in range(0, len(sentences), BATCH):
            block = _call(function, name, sentences[at : at + BATCH])
            if block.shape[1] != width:
                raise CsebError(f"{name} returned vectors of {quantity(width, 'number')} and then of {block.shape[1]}")
            vectors[at : at + BATCH] = block
            tell(ENCODING, at + len(block), len(sentences))
        return vectors

    try:
        source = Path(inspect.getsourcefile(function) or "").read_bytes()
    except (TypeError, OSError):  # a callable object, or a function without a file
        source = b""
    vectors = "".join(map(_rounded, [probe, *(_unusual(function, name, text) for text in UNUSUAL)]))
    sha256 = hashlib.sha256(source + vectors.encode()).hexdigest()
    notes = ("sha256: of the function's file and of its vectors for five texts, of which one has 600 words",)
    return Embedder(
        source=Source(name=name, sha256=sha256),
        method="function",
        resolved="function()@1",
        open=lambda: embed,
        notes=notes,
    )


def _function(name: str) -> Callable[[list[str]], Any]:
    if (directory := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, directory)
    try:
        function = pkgutil.resolve_name(name)
    except ModuleNotFoundError as error:
        raise BadSpec(f"{name}: {error}; the module must be in {directory} or installed") from None
    except AttributeError as error:
        raise BadSpec(f"{name}: {error}; write module:function") from None
    except (Exception, SystemExit) as error:  # the module is third-party code
        raise BadSpec(f"{name} cannot be imported: {_where(error)}") from error
    if not callable(function):
        raise BadSpec(f"{name} is a {type(function).__name__}; a function of a list of strings is needed")
    return function  # type: ignore[no-any-return]


def _call(function: Callable[[list[str]], Any], name: str, sentences: Sequence[str]) -> Vectors:
    try:
        vectors = np.asarray(function(list(sentences)))
    except (Exception, SystemExit) as error:  # third-party code, or rows of different lengths
        raise CsebError(f"{name} fails on {quantity(len(sentences), 'sentence')}: {_where(error)}") from error
    if vectors.ndim != 2 or len(vectors) != len(sentences) or 0 in vectors.shape[1:] or vectors.dtype.kind not in "iuf":
        raise CsebError(
            f"{name} returned {vectors.dtype} of shape {vectors.shape} for {quantity(len(sentences), 'sentence')}; "
            f"numbers of shape ({len(sentences)}, width) are needed"
        )
    with np.errstate(over="ignore"):  # too large numbers become infinite, and are reported as such
        return vectors.astype(np.float32)


def _unusual(function: Callable[[list[str]], Any], name: str, text: str) -> Vectors:
    """Return the vector of a text that no task may have: (1, D), or (0, 0) if the function fails on it."""
    try:
        return _call(function, name, [text])
    except CsebError:
        return np.zeros((0, 0), dtype=np.float32)


def _rounded(vectors: Vectors) -> str:
    return repr((np.round(vectors.astype(np.float64), 3) + 0.0).tolist())  # -0.0 and 0.0 are one number


def _where(error: BaseException) -> str:
    """Return the error with the place in the third-party code where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {first_line(error)} ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


SUFFIX = ".npz"
HOW = "write it with np.savez(file, sentences=list_of_strings, vectors=array)"


def find_vectors(name: str) -> Embedder:
    """Return the embedder of `FILE.npz` with arrays `sentences` (N,) and `vectors` (N, D). Raises: BadData."""
    sha256 = file_sha256(Path(name))
    embed = _opened(name)
    return Embedder(
        source=Source(name=name, sha256=sha256),
        method="vectors",
        resolved="sentence_vectors()@1",
        open=lambda: embed,
        notes=("vectors are those of a file; the model that made them is not known",),
    )


def _opened(name: str) -> Embed:
    sentences, vectors = _read_vectors(name)
    numbered = list(enumerate(sentences))[::-1]  # the first of equal sentences is read
    rows = {" ".join(sentence.split()): row for row, sentence in numbered}  # tasks have single spaces for white space
    rows |= {sentence: row for row, sentence in numbered}

    def embed(texts: Sequence[str]) -> Vectors:
        lacking = [sentence for sentence in texts if sentence not in rows]
        if lacking:
            raise BadData(
                f"{name} lacks vectors of {len(lacking)} of {quantity(len(texts), 'sentence')}, such as "
                f"{lacking[0][:60]!r}; add them to the file"
            )
        return vectors[[rows[sentence] for sentence in texts]]

    return embed


def _read_vectors(name: str) -> tuple[list[str], npt.NDArray[np.float32]]:
    try:
        with np.load(name, allow_pickle=False) as arrays:
            sentences, vectors = arrays["sentences"], arrays["vectors"]
    except KeyError as error:
        raise BadData(f"sentence vectors {name} lack the array {first_line(error)}; {HOW}") from None
    except Exception as error:  # damaged bytes raise half a dozen different exceptions
        raise BadData(f"sentence vectors {name} cannot be read: {first_line(error)}; {HOW}") from None
    if sentences.dtype.kind != "U" or sentences.ndim != 1:
        raise BadData(f"sentence vectors {name}: sentences are {sentences.dtype}, not strings in one row; {HOW}")
    if vectors.ndim != 2 or vectors.dtype.kind != "f" or len(vectors) != len(sentences) or 0 in vectors.shape:
        raise BadData(
            f"sentence vectors {name}: vectors are {vectors.dtype} of shape {vectors.shape} for "
            f"{quantity(len(sentences), 'sentence')}; {HOW}"
        )
    vectors = vectors.astype(np.float32)
    if not np.isfinite(vectors).all():
        raise BadData(f"sentence vectors {name}: some numbers are not finite; take these sentences out")
    return sentences.tolist(), vectors
