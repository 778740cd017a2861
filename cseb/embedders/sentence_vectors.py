"""A file of sentences with their vectors, as whoever has asked a paid service for them once would keep them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import file_sha256
from cseb.embedders.interface import Embedder
from cseb.errors import BadData, first_line
from cseb.records.record import Source
from cseb.tasks.task import Embed, Vectors
from cseb.text import quantity

SUFFIX = ".npz"
HOW = "write it with np.savez(file, sentences=list_of_strings, vectors=array)"


def find(name: str) -> Embedder:
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
    sentences, vectors = _read(name)
    rows = {sentence: row for row, sentence in reversed(list(enumerate(sentences)))}  # the first of equal sentences

    def embed(texts: Sequence[str]) -> Vectors:
        lacking = [sentence for sentence in texts if sentence not in rows]
        if lacking:
            raise BadData(
                f"{name} lacks vectors of {len(lacking)} of {quantity(len(texts), 'sentence')}, such as "
                f"{lacking[0][:60]!r}; add them to the file"
            )
        return vectors[[rows[sentence] for sentence in texts]]

    return embed


def _read(name: str) -> tuple[list[str], npt.NDArray[np.float32]]:
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
