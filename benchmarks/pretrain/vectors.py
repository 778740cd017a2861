"""Word vectors from counts of co-occurrence: word embeddings with which a model begins to learn.

    python -m benchmarks.pretrain.vectors BASE/text

writes BASE/text/vectors.npy. From masked words alone, a small model learns as much about words only after hundreds of
millions of tokens (TRIALS.md).
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from scipy.sparse import csr_matrix
from sklearn.utils.extmath import randomized_svd

from benchmarks.pretrain.rows import Ids
from benchmarks.pretrain.sizes import SIZES
from benchmarks.pretrain.sources import BadText, in_one_line
from benchmarks.pretrain.text import load
from benchmarks.pretrain.wordpiece import SPECIAL

FILE = "vectors.npy"
WINDOW = 8  # largest distance of two pieces that are counted together
SMOOTHING = 0.75  # power of the context's frequency
WIDTH = max(size.width for size in SIZES.values())
AT_ONCE = 20_000_000  # tokens

Floats = npt.NDArray[np.float32]


def counts(ids: Ids, pieces: int) -> Floats:
    """Return how often two pieces co-occur: (V, V), symmetric, each occurrence weighted by 1 / distance.

    ids: (N,) tokens of the text; boundaries of documents are ignored. pieces: size V of the vocabulary.
    """
    total = np.zeros(pieces * pieces, dtype=np.float32)
    for start in range(0, len(ids), AT_ONCE):
        part = ids[start : start + AT_ONCE].astype(np.int64)
        for distance in range(1, WINDOW + 1):
            pairs = part[:-distance] * pieces + part[distance:]
            total += (np.bincount(pairs, minlength=pieces * pieces) / distance).astype(np.float32)
    table = total.reshape(pieces, pieces)
    return table + table.T


def information(table: Floats) -> Floats:
    """Return the positive pointwise mutual information (V, V) of counts, with smoothed contexts.

    Source: Levy, Goldberg & Dagan, TACL 2015, sections 2.1 and 3.2 (context distribution smoothing).
    """
    words = table.sum(axis=1)
    contexts = words**SMOOTHING
    contexts /= contexts.sum()
    expected = words[:, None] * contexts
    ratio = np.divide(table, expected, out=np.ones_like(table), where=table > 0)
    positive: Floats = np.log(np.maximum(ratio, 1.0))
    return positive


def word_vectors(ids: Ids, pieces: int, width: int = WIDTH) -> Floats:
    """Return the left singular vectors (V, width) of the information, the largest singular value first.

    Singular values are left out (power 0 in section 3.3 of Levy et al.). The vectors of rare pieces are short.
    """
    vectors, _, _ = randomized_svd(csr_matrix(information(counts(ids, pieces))), width, n_iter=4, random_state=0)
    return np.asarray(vectors, dtype=np.float32)


def begin(weight: torch.Tensor, path: Path) -> None:
    """Replace random word embeddings (V, D) by the vectors of a file, centred, at the same standard deviation.

    Special tokens and pieces that never occur keep their random embeddings. path: a file with (V, at least D) numbers.
    Raises: BadText if it is missing.
    """
    if not path.is_file():
        raise BadText(f"{path} is missing. Make it with python -m benchmarks.pretrain.vectors {path.parent}.")
    vectors = torch.from_numpy(np.load(path, allow_pickle=False)[:, : weight.shape[1]])
    rows = vectors.abs().sum(dim=1).nonzero().flatten()
    rows = rows[rows >= len(SPECIAL)]
    centred = vectors[rows] - vectors[rows].mean(dim=0)
    with torch.no_grad():
        weight[rows] = centred * (weight[rows].std() / centred.std())


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("text", type=Path, help="folder that benchmarks.pretrain.text made")
    options = parser.parse_args()
    with in_one_line(BadText):
        tokenizer, training, _, _ = load(options.text)
    part = options.text / "vectors.part.npy"
    np.save(part, word_vectors(training.ids, len(tokenizer)))
    part.replace(options.text / FILE)


if __name__ == "__main__":
    main()
