"""Ranks of methods, their probability to be best and expected regret, by resampling seeds and clusters of items.

Bootstrap intervals over few seeds are somewhat too narrow. They describe a ranking; conclusions come from `paired`.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from cseb.statistics.intervals import Floats

DRAWS = 10_000
TABLE = 2**16
CHUNK = 500  # draws at a time, so that the weights of ten thousand clusters take 20 MB


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The ranking of K methods, (K,) each.

    low, high: 95 % interval of the rank, 1 the best. best: fraction of draws in which the method is first, ties shared.
    regret: mean difference to the best score of a draw.
    """

    low: Floats
    high: Floats
    best: Floats
    regret: Floats


def ranking(scores: Floats, contributions: Floats | None = None, draws: int = DRAWS) -> Ranking:
    """Rank methods on resampled seeds, the same for all, and clusters of items with Poisson weights of mean one.

    The random stream is seeded with a hash of the inputs, so that equal results give equal rankings.

    Args:
        scores: (K, S) by method and seed, tasks averaged.
        contributions: (K, S, G) of each cluster of items (see `items`); None to resample seeds only.
        draws: Number of resamples.
    """
    chunks = [min(CHUNK, draws - start) for start in range(0, draws, CHUNK)]
    rng = seeded(scores, *(() if contributions is None else (contributions,)))
    means = np.concatenate([_draw(scores, contributions, size, rng) for size in chunks])  # (draws, K)
    top = means.max(axis=1, keepdims=True)
    first = means == top
    ranks = 1 + (means[:, None, :] > means[:, :, None]).sum(axis=2)
    low, high = np.quantile(ranks, (0.025, 0.975), axis=0, method="inverted_cdf")
    return Ranking(
        low=low.astype(np.float64),
        high=high.astype(np.float64),
        best=(first / first.sum(axis=1, keepdims=True)).mean(axis=0),
        regret=(top - means).mean(axis=0),
    )


def seeded(*arrays: Floats) -> np.random.Generator:
    """Return a generator seeded with a hash of these arrays."""
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(array, dtype="<f8").tobytes() for array in arrays))
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest()[:8], "big")))


def _draw(scores: Floats, contributions: Floats | None, size: int, rng: np.random.Generator) -> Floats:
    """Return means (size, K) over resampled seeds and items."""
    seeds = scores.shape[1]
    weights = rng.multinomial(seeds, [1 / seeds] * seeds, size) / seeds  # (size, S)
    means: Floats = weights @ scores.T
    if contributions is None:
        return means
    clusters = _poisson()[rng.integers(0, TABLE, (size, contributions.shape[2]), dtype=np.uint16)]
    methods, _, count = contributions.shape
    shifts = clusters @ contributions.astype(np.float32).reshape(methods * seeds, count).T  # (size, K S)
    mean_shifts: Floats = np.einsum("ds,dks->dk", weights, shifts.reshape(size, methods, seeds))
    return means + mean_shifts


@cache
def _poisson() -> npt.NDArray[np.float32]:
    """Return a table (TABLE,) of Poisson numbers of mean one, less one; drawing from it is three times as fast."""
    from scipy import stats

    counts: Floats = stats.poisson.ppf((np.arange(TABLE) + 0.5) / TABLE, 1.0)
    return counts.astype(np.float32) - 1
