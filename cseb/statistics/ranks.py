"""Ranks, the chance to be best, and what choosing a method may cost, by resampling seeds and clusters of items.

A bootstrap over a handful of seeds is somewhat too narrow: this describes a ranking, verdicts come from `paired`.
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
    """For each of K methods, (K,).

    low, high: 95 % interval of its rank, 1 the best. best: fraction of draws in which it is first, ties shared. regret:
    points that choosing it loses against the best of the draw, on average.
    """

    low: Floats
    high: Floats
    best: Floats
    regret: Floats


def ranking(scores: Floats, contributions: Floats | None = None, draws: int = DRAWS) -> Ranking:
    """Resample whole seeds, the same for all methods, and clusters of items.

    scores: (K, S) points by method and seed, tasks averaged. contributions: (K, S, G), of each cluster of
    items (see `items`), or None to resample seeds alone. Clusters get Poisson weights of mean one. The generator is
    seeded from the numbers themselves: the same results give the same ranking.
    """
    rng = seeded(scores, *(() if contributions is None else (contributions,)))
    means = np.concatenate([_draw(scores, contributions, size, rng) for size in _chunks(draws)])  # (draws, K)
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
    """A generator that depends on these numbers and nothing else."""
    digest = hashlib.sha256(b"".join(np.ascontiguousarray(array, dtype="<f8").tobytes() for array in arrays))
    return np.random.Generator(np.random.PCG64(int.from_bytes(digest.digest()[:8], "big")))


def _draw(scores: Floats, contributions: Floats | None, size: int, rng: np.random.Generator) -> Floats:
    """Means (size, K) of resampled seeds and items."""
    seeds = scores.shape[1]
    weights = rng.multinomial(seeds, [1 / seeds] * seeds, size) / seeds  # (size, S)
    means: Floats = weights @ scores.T
    if contributions is None:
        return means
    clusters = _poisson()[rng.integers(0, TABLE, (size, contributions.shape[2]), dtype=np.uint16)]
    methods, _, count = contributions.shape
    moved = clusters @ contributions.astype(np.float32).reshape(methods * seeds, count).T  # (size, K S)
    moves: Floats = np.einsum("ds,dks->dk", weights, moved.reshape(size, methods, seeds))
    return means + moves


@cache
def _poisson() -> npt.NDArray[np.float32]:
    """Poisson numbers of mean one, less one, in proportion: (TABLE,). Looking them up is three times as fast."""
    from scipy import stats

    counts: Floats = stats.poisson.ppf((np.arange(TABLE) + 0.5) / TABLE, 1.0)
    return counts.astype(np.float32) - 1


def _chunks(draws: int) -> list[int]:
    return [CHUNK] * (draws // CHUNK) + ([draws % CHUNK] if draws % CHUNK else [])
