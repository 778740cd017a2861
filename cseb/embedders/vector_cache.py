"""Cache of sentence vectors on disk, so that sentences common to several evaluations are encoded once.

A folder holds one sub-folder for each encoder and way of encoding, and in it blocks of sentences with their vectors. A
block ends in a digest of all its bytes, keyed with the encoder's content, the way of encoding and the versions of cseb
and of this format: vectors of another encoder, or a block that was damaged, are noticed, removed and encoded again. A
block is written under another name and then renamed to its digest, so any number of processes may write at once.
Whoever may write into the folder and knows the encoder can still forge vectors: it is to be as private as the records.
Vectors are those of the batch a sentence first stood in; another batch would round them differently in the seventh
digit.

Layout of a block, little-endian: MAGIC, rows N and width D as 32-bit integers, N names of DIGEST bytes, N x D float32,
and the digest of SEAL bytes.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
import uuid
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.bounded import open_regular
from cseb.errors import BadData
from cseb.tasks.task import Embed, Vectors
from cseb.text import quantity
from cseb.version import __version__

BLOCK = 8192  # sentences that are encoded, and kept, at a time
DIGEST = 16  # bytes of the hash that stands for a sentence
SEAL = 32  # bytes of the digest that ends a block
MAGIC = b"cseb-v2\n"
HEAD = struct.Struct("<8sII")
WIDEST = 16_384  # numbers a vector, four times those of the widest encoders: a block has half a gigabyte at most
SUFFIX = ".vectors"


class Cache:
    """An `Embed` in front of another one. `encoded`: how many sentences the other one was asked for.

    `damaged`: how many blocks were damaged and removed.
    """

    def __init__(self, folder: Path, key: str, embed: Embed) -> None:
        """key: names content and way of encoding; sixteen hex digits or more. Raises: BadData."""
        self.folder, self.embed = folder / key[:16], embed
        self.secret = hashlib.sha256(MAGIC + f"{__version__}\0{key}".encode()).digest()
        self.encoded, self.damaged = 0, 0
        self.known: dict[bytes, Vectors] = {}
        self.width = 0  # of the vectors that are known, 0 while none is
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for path in sorted(self.folder.glob(f"*{SUFFIX}")):
                self._read(path)
        except (OSError, ValueError) as error:  # ValueError: a null character in the name
            raise _unusable(folder, error) from None

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        """N sentences to (N, D)."""
        names = [_name(sentence) for sentence in sentences]
        missing = {name: sentence for name, sentence in zip(names, sentences, strict=True) if name not in self.known}
        order = list(missing)
        for at in range(0, len(order), BLOCK):
            block = order[at : at + BLOCK]
            vectors = self.embed([missing[name] for name in block])
            if self.width not in (0, vectors.shape[1]):  # what lies there is not of this encoder, whatever it says
                self.known.clear()
                self.width = 0
                return self(sentences)
            self.encoded += len(block)
            self.width = vectors.shape[1]
            self.known |= dict(zip(block, vectors, strict=True))
            if np.isfinite(vectors).all() and self.width <= WIDEST:
                self._write(block, vectors)
        if not names:
            return self.embed([])
        return np.stack([self.known[name] for name in names])

    def __str__(self) -> str:
        size = sum(path.lstat().st_size for path in self.folder.glob(f"*{SUFFIX}") if path.is_file())
        damaged = f"; {quantity(self.damaged, 'damaged block')} removed" if self.damaged else ""
        return (
            f"{quantity(self.encoded, 'sentence')} encoded, {size / 2**20:.1f} MB of vectors in {self.folder}{damaged}"
        )

    def _read(self, path: Path) -> None:
        try:
            names, vectors = self._opened(path)
        except FileNotFoundError:  # another process has found it damaged
            return
        except BadData:
            self.damaged += 1
            if path.is_symlink() or not path.is_dir():
                path.unlink(missing_ok=True)
            return
        self.width = vectors.shape[1]
        self.known |= {name.tobytes(): vector for name, vector in zip(names, vectors, strict=True)}

    def _opened(self, path: Path) -> tuple[npt.NDArray[np.uint8], Vectors]:
        """Names (N, DIGEST) and vectors (N, D) of a block; its size is looked at before it is read.

        Raises: BadData if it is no block of this encoder's, FileNotFoundError if it is gone.
        """
        path.lstat()
        with open_regular(path) as file:
            head = file.read(HEAD.size)
            magic, rows, width = HEAD.unpack(head) if len(head) == HEAD.size else (b"", 0, 0)
            if magic != MAGIC or not 1 <= rows <= BLOCK or not 1 <= width <= WIDEST or self.width not in (0, width):
                raise BadData(f"{path} is not a block of vectors")
            length = rows * (DIGEST + 4 * width)
            if os.fstat(file.fileno()).st_size != HEAD.size + length + SEAL:
                raise BadData(f"{path} is cut short or too long")
            body, seal = file.read(length), file.read(SEAL)
        if not hmac.compare_digest(self._seal(head, body), seal):
            raise BadData(f"{path} holds vectors of another encoder, or is damaged")
        names = np.frombuffer(body, dtype=np.uint8, count=rows * DIGEST).reshape(rows, DIGEST)
        vectors = np.frombuffer(body, dtype="<f4", offset=rows * DIGEST).reshape(rows, width)
        if not np.isfinite(vectors).all():
            raise BadData(f"{path} holds numbers that are not finite")
        return names, vectors.astype(np.float32, copy=False)

    def _seal(self, *pieces: bytes) -> bytes:
        digest = hashlib.blake2b(key=self.secret, digest_size=SEAL)
        for piece in pieces:
            digest.update(piece)
        return digest.digest()

    def _write(self, block: Sequence[bytes], vectors: Vectors) -> None:
        head = HEAD.pack(MAGIC, len(block), vectors.shape[1])
        body = b"".join(block) + vectors.astype("<f4").tobytes()
        seal = self._seal(head, body)
        temporary = self.folder / f".{uuid.uuid4().hex}.tmp"
        try:
            with temporary.open("xb") as file:
                file.writelines((head, body, seal))
            temporary.replace(self.folder / f"{seal.hex()}{SUFFIX}")
        except OSError as error:
            raise _unusable(self.folder, error) from None
        finally:
            temporary.unlink(missing_ok=True)


def _name(sentence: str) -> bytes:
    return hashlib.blake2b(sentence.encode("utf-8", "surrogatepass"), digest_size=DIGEST).digest()


def _unusable(folder: Path, error: OSError | ValueError) -> BadData:
    reason = getattr(error, "strerror", None) or error
    return BadData(f"`cache` {str(folder)[:200]} cannot be used: {reason}; free some space or take another folder")
