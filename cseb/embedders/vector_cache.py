"""Vectors of sentences on disk, for an encoding that continues after an interruption and for teachers.

Each encoder, way of encoding and version of cseb has a sub-folder with a file for each block of sentences. A damaged
file is made again. Any number of processes may write at once.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from cseb.data.bounded import MIB, read_bytes
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.progress import ENCODING, part_of
from cseb.tasks.task import Embed, Vectors
from cseb.version import __version__

BLOCK = 8192  # sentences that are encoded and stored at a time
LARGEST = 520 * MIB  # bytes of a block: vectors of 16,384 numbers


def stored(folder: Path, key: str, embed: Embed) -> Embed:
    """Return `embed` as a function that stores the vectors of each block of distinct sentences, and reads them again.

    key: names content and way of encoding. The function raises BadData if the folder cannot be used.
    """
    place = folder / _digest([__version__, key])

    def embed_stored(sentences: Sequence[str]) -> Vectors:
        rows = {sentence: row for row, sentence in enumerate(dict.fromkeys(sentences))}
        distinct = list(rows)
        blocks = [distinct[start : start + BLOCK] for start in range(0, len(distinct), BLOCK)]
        files = {place / f"{_digest(block)}.npz": block for block in blocks}
        vectors = {file: cached for file in files if (cached := _read(file)) is not None}
        done, total = 0, sum(len(block) for file, block in files.items() if file not in vectors)
        for file, block in files.items():
            if file not in vectors:
                with part_of(ENCODING, done, total):
                    vectors[file] = embed(block)
                _store(file, vectors[file])
                done += len(block)
        if not files:
            return embed([])
        return np.concatenate([vectors[file] for file in files])[[rows[sentence] for sentence in sentences]]

    return embed_stored


def _read(file: Path) -> Vectors | None:
    """Return the stored vectors of a block; None if there is no file, or a damaged one."""
    with suppress(BadData, OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        vectors: Vectors = np.load(io.BytesIO(read_bytes(file, LARGEST)), allow_pickle=False)["vectors"]
        return vectors
    return None


def _store(file: Path, vectors: Vectors) -> None:
    """Store the vectors of a block, if all are finite. Raises: BadData."""
    if not np.isfinite(vectors).all():
        return
    content = io.BytesIO()
    np.savez(content, vectors=np.asarray(vectors, np.float32))
    try:
        write_whole(file, [content.getvalue()])
    except (OSError, ValueError) as error:  # ValueError: a null character in the name
        reason = getattr(error, "strerror", None) or error
        raise BadData(
            f"the folder of vectors {str(file.parent)[:200]} cannot be used: {reason}; free space, or name another"
        ) from None


def _digest(texts: Iterable[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()
