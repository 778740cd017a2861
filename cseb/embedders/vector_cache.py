"""Cache of sentence vectors on disk, for an encoding that continues after an interruption and for teachers.

Each encoder, way of encoding and version of cseb has a sub-folder with blocks of sentences in safetensors files. A
block's name is the hash of its bytes: a damaged block is removed and encoded again. Any number of processes may write
at once.

Vectors are those of the batch in which a sentence was first encoded; another batch may round differently.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load, save

from cseb.data.bounded import MIB, read_bytes
from cseb.data.files import write_whole
from cseb.errors import BadData
from cseb.tasks.task import Embed, Vectors
from cseb.version import __version__

BLOCK = 8192  # sentences that are encoded and stored at a time
DIGEST = 16  # bytes of the hash of a sentence
LARGEST = 520 * MIB  # bytes of a block: vectors of 16,384 numbers
SUFFIX = ".safetensors"


class Cache:
    """An `Embed` that encodes only sentences whose vectors are not stored yet."""

    def __init__(self, folder: Path, key: str, embed: Embed) -> None:
        """key: names content and way of encoding. Raises: BadData."""
        self.folder, self.embed = folder / _digest(f"{__version__}\0{key}".encode()), embed
        self.vectors: dict[bytes, Vectors] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(self.folder.glob(f"*{SUFFIX}")):
                self._read(path)
        except (OSError, ValueError) as error:  # ValueError: a null character in the name
            raise self._unusable(error) from None

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        """Return the vectors (N, D) of N sentences."""
        if not sentences:
            return self.embed([])
        names = [_name(sentence) for sentence in sentences]
        missing = {name: text for name, text in zip(names, sentences, strict=True) if name not in self.vectors}
        order = list(missing)
        for start in range(0, len(order), BLOCK):
            block = order[start : start + BLOCK]
            vectors = self.embed([missing[name] for name in block])
            self.vectors |= dict(zip(block, vectors, strict=True))
            if np.isfinite(vectors).all():
                self._write(block, vectors)
        return np.stack([self.vectors[name] for name in names])

    def _read(self, path: Path) -> None:
        try:
            content = read_bytes(path, LARGEST)
        except BadData:
            content = b""
        if _digest(content) == path.stem:
            arrays = load(content)
            self.vectors |= {name.tobytes(): row for name, row in zip(arrays["names"], arrays["vectors"], strict=True)}
        elif path.is_symlink() or path.is_file():  # if neither, another process has removed it already
            path.unlink(missing_ok=True)

    def _write(self, block: Sequence[bytes], vectors: Vectors) -> None:
        names = np.frombuffer(b"".join(block), dtype=np.uint8).reshape(-1, DIGEST)
        content = save({"names": names, "vectors": np.ascontiguousarray(vectors, dtype=np.float32)})
        try:
            write_whole(self.folder / f"{_digest(content)}{SUFFIX}", [content])
        except OSError as error:
            raise self._unusable(error) from None

    def _unusable(self, error: OSError | ValueError) -> BadData:
        reason = getattr(error, "strerror", None) or error
        return BadData(f"the folder of vectors {str(self.folder)[:200]} cannot be used: {reason}; free some space")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _name(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()
