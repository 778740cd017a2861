"""Sentence vectors on disk, so that a second set of tasks does not encode what the first one has encoded.

A folder holds one sub-folder for each encoder and way of encoding, and in it blocks of sentences with their vectors. A
block is written under another name and then renamed, and its name is the sha256 of its bytes: so any number of
processes may write at once, and a block that was damaged is noticed, removed and encoded again. Vectors are those of
the batch a sentence first stood in; another batch would round them differently in the seventh digit.
"""

from __future__ import annotations

import hashlib
import io
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.errors import BadData
from cseb.tasks.task import Embed, Vectors

BLOCK = 8192  # sentences that are encoded, and kept, at a time
DIGEST = 16  # bytes of the hash that stands for a sentence


class Cache:
    """An `Embed` in front of another one. `encoded`: how many sentences the other one was asked for."""

    def __init__(self, folder: Path, key: str, embed: Embed) -> None:
        """key: names content and way of encoding; sixteen hex digits or more. Raises: BadData."""
        self.folder, self.embed = folder / key[:16], embed
        self.encoded, self.damaged = 0, 0
        self.known: dict[bytes, Vectors] = {}
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(self.folder.glob("*.npz")):
                self._read(path)
        except OSError as error:
            raise _unusable(folder, error) from None

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        """N sentences to (N, D)."""
        names = [_name(sentence) for sentence in sentences]
        missing = {name: sentence for name, sentence in zip(names, sentences, strict=True) if name not in self.known}
        order = list(missing)
        for at in range(0, len(order), BLOCK):
            block = order[at : at + BLOCK]
            vectors = self.embed([missing[name] for name in block])
            self.encoded += len(block)
            self.known |= dict(zip(block, vectors, strict=True))
            if np.isfinite(vectors).all():
                self._write(block, vectors)
        if not names:
            return self.embed([])
        return np.stack([self.known[name] for name in names])

    def __str__(self) -> str:
        size = sum(path.stat().st_size for path in self.folder.glob("*.npz"))
        damaged = f"; {self.damaged} damaged blocks were removed" if self.damaged else ""
        return f"{self.encoded:,} sentences encoded, {size / 2**20:.1f} MB of vectors in {self.folder}{damaged}"

    def _read(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except FileNotFoundError:  # another process has found it damaged
            return
        if hashlib.sha256(content).hexdigest() != path.stem:
            self.damaged += 1
            path.unlink(missing_ok=True)
            return
        with np.load(io.BytesIO(content), allow_pickle=False) as held:
            names, vectors = held["names"], held["vectors"]
        self.known |= {name.tobytes(): vector for name, vector in zip(names, vectors, strict=True)}

    def _write(self, block: Sequence[bytes], vectors: Vectors) -> None:
        names: npt.NDArray[np.uint8] = np.frombuffer(b"".join(block), dtype=np.uint8).reshape(len(block), DIGEST)
        buffer = io.BytesIO()
        np.savez(buffer, names=names, vectors=vectors)
        content = buffer.getvalue()
        temporary = self.folder / f".{uuid.uuid4().hex}.tmp"
        try:
            temporary.write_bytes(content)
            temporary.replace(self.folder / f"{hashlib.sha256(content).hexdigest()}.npz")
        except OSError as error:
            raise _unusable(self.folder, error) from None
        finally:
            temporary.unlink(missing_ok=True)


def _name(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


def _unusable(folder: Path, error: OSError) -> BadData:
    return BadData(
        f"--cache {folder} cannot be used: {error.strerror or error}; free some space or take another folder"
    )
