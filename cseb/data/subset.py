"""Seeded nested subsets of a corpus: for one seed, a smaller fraction is contained in every larger one."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.data.corpus import Corpus
from cseb.data.files import regular, write_whole, written
from cseb.data.tables import ENDINGS
from cseb.errors import BadBenchmark
from cseb.seeds import SUBSET, stream_seed


def order(count: int, seed: int) -> npt.NDArray[np.int64]:
    """Return a permutation of 0 to count - 1, the same on every machine and in every version of numpy: (count,).

    Place i is sorted by the i-th number of the generator splitmix64.
    Source: Steele, Lea & Flood, OOPSLA 2014, with the constants of java.util.SplittableRandom.
    """
    z = np.arange(1, count + 1, dtype=np.uint64)
    z *= np.uint64(0x9E3779B97F4A7C15)
    z += np.uint64(stream_seed(seed, SUBSET))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.argsort(z ^ (z >> np.uint64(31)), kind="stable").astype(np.int64, copy=False)


def draw(count: int, size: int, seed: int) -> npt.NDArray[np.int64]:
    """Which `size` of `count` sentences this seed draws, in the order drawn: (size,). Raises: BadBenchmark."""
    if not 1 <= size <= count:
        raise BadBenchmark(f"a subset of {size} sentences is asked for; the corpus allows 1 to {count}")
    return order(count, seed)[:size]


def size_of(fraction: float, count: int) -> int:
    """Return the number of sentences in this fraction of a corpus; halves are rounded up, in decimal: 0.29 of 50 is 15.

    fraction: in (0, 1]. Raises: BadBenchmark if it is too small for one sentence.
    """
    size = int((Decimal(repr(float(fraction))) * count).quantize(Decimal(1), rounding=ROUND_HALF_UP))
    if size == 0:
        raise BadBenchmark(
            f"fraction {fraction!r} of {count} sentences is less than one; take {1 / max(count, 1):.1g} or more"
        )
    return size


def subset_sha256(sentences: Iterable[str]) -> str:
    """Return the sha256 of a corpus of exactly these sentences in this order."""
    return hashlib.sha256("".join(f"{sentence}\n" for sentence in sentences).encode()).hexdigest()


def write_subset(path: Path, corpus: Corpus, size: int, seed: int) -> None:
    """Write `size` drawn sentences to `path`, beside a file a description too. Raises: BadBenchmark, BadResults."""
    if Path(corpus.name).exists() and path.exists() and path.samefile(corpus.name):
        raise BadBenchmark(f"{path} is the corpus itself, which would be overwritten; give `out` another name")
    if path.suffix.lower() in (*ENDINGS, ".gz"):
        raise BadBenchmark(f"{path} would be no {path.suffix} file: a sample has one sentence per line; take .txt")
    indices = draw(len(corpus), size, seed)
    sentences = corpus.take(indices)
    manifest = {
        "corpus": corpus.name,
        "corpus_sha256": corpus.sha256,
        "corpus_size": len(corpus),
        "seed": seed,
        "size": size,
        "fraction": size / len(corpus),
        "subset_sha256": subset_sha256(sentences),
        "indices": indices.tolist(),
    }
    with written(path):
        is_file = regular(path)
        write_whole(path, (f"{sentence}\n".encode() for sentence in sentences))
        if is_file:
            write_whole(path.with_name(f"{path.name}.json"), [json.dumps(manifest).encode(), b"\n"])
