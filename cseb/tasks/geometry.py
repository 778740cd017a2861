"""Geometry of a set of embeddings: alignment, uniformity, anisotropy and effective rank, on unit vectors.

The items of a measure are one or two numbers for each pair or sentence; value and influences are computed from them.
Each measure has its own unit, and for all but the effective rank lower is better.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from cseb.errors import BadData
from cseb.tasks.influence import Labels, connected, mean_influence
from cseb.tasks.pairs import RatedPairs, row_cosine
from cseb.tasks.retrieval import unit
from cseb.tasks.senteval import STSB_DEV
from cseb.tasks.task import Embed, Influence, Items, Outcome, Task, Vectors

Floats = npt.NDArray[np.float64]
Name = Literal["alignment", "uniformity", "anisotropy", "effective-rank"]
ABOVE = 4.0  # positive pairs are rated higher than this, as in footnote 3 of Gao et al. 2021
BLOCK = 512  # sentences compared with all others at a time


class Measure(NamedTuple):
    """Functions from 2N vectors, left ones first, to items, from items to the value, and from items to influences."""

    items: Callable[[Vectors], Floats]
    value: Callable[[Floats], float]
    influence: Callable[[Floats], Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """One measure on the two sides of N pairs; a sentence that occurs twice counts twice.

    Items: of alignment the cosine of each pair, (N,); of uniformity and anisotropy the mean over all other sentences,
    (2N,); of the effective rank two sums over the spectrum, (2N, 2). `detail` contains the value by its name and the
    numbers of `pairs` and `sentences`. The value is None if a vector is not finite or is zero. That of a collapsed
    encoder is defined: 0 for alignment and uniformity, 1 for the others.
    """

    measure: Name
    left: Sequence[str]
    right: Sequence[str]

    def sentences(self) -> list[str]:
        return [*self.left, *self.right]

    def sha256(self) -> str:
        rows = "".join(f"{a}\t{b}\n" for a, b in zip(self.left, self.right, strict=True))
        return hashlib.sha256(f"{self.measure}\n{rows}".encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Return what each pair or sentence contributes; NaN throughout where the measure is undefined."""
        with np.errstate(all="ignore"):
            values = MEASURES[self.measure].items(embed(self.sentences()))
        return values.astype(np.float32)

    def outcome(self, items: Items) -> Outcome:
        finite = bool(np.isfinite(items).all())
        value = MEASURES[self.measure].value(items.astype(np.float64)) if finite else None
        counts: dict[str, float | None] = {"pairs": float(len(self.left)), "sentences": float(2 * len(self.left))}
        return Outcome(value, {self.measure: value, **counts})

    def influence(self, items: Items) -> Influence:
        """Return the influence of each pair or sentence on the value, in its own unit."""
        if not np.isfinite(items).all():
            return np.full(len(items), np.nan)
        return MEASURES[self.measure].influence(items.astype(np.float64))

    def clusters(self) -> Labels:
        """Return equal labels for pairs joined by shared sentences, and for the sentences in them."""
        pairs = connected(list(zip(self.left, self.right, strict=True)))
        return pairs if self.measure == "alignment" else np.tile(pairs, 2)


@dataclass(frozen=True, slots=True)
class Geometry:
    """A measure on the rated pairs of another task: alignment on pairs rated above `above`, the others on all pairs.

    Source: Wang & Isola 2020 with the set-up of Gao et al. 2021, footnote 3, on the development set of STS-B as in
    MSSE and CompCSE: 208 of 1500 pairs are positive, of 3000 sentences. Ethayarajh 2019 for anisotropy, Roy &
    Vetterli 2007 for the effective rank.
    """

    name: str
    measure: Name
    pairs: Task
    of: str  # name of the pairs in the protocol
    above: float = ABOVE
    version: int = 1

    @property
    def protocol(self) -> str:
        """Return, for example, alignment(of=stsb-dev above=4)@1."""
        return f"{self.measure}(of={self.of}{f' above={self.above:g}' if self.measure == 'alignment' else ''})@1"

    def load(self, data_dir: Path | None) -> Shape:
        rated = self.pairs.load(data_dir)
        if not isinstance(rated, RatedPairs):
            raise BadData(f"{self.name} needs rated pairs, and {self.pairs.name} has {type(rated).__name__}")
        return shape(self.measure, rated, self.above, self.name)


def shape(measure: Name, rated: RatedPairs, above: float, name: str) -> Shape:
    """Return the pairs of a measure: for alignment those rated above `above`. Raises: BadData if there is none."""
    rows = [row for each in rated.subsets for row in zip(each.left, each.right, each.gold, strict=True)]
    kept = [row for row in rows if measure != "alignment" or row[2] > above]
    if not kept:
        top = max((row[2] for row in rows), default=0.0)
        raise BadData(f"{name} has no pair rated above {above:g} (highest: {top:g}); choose a lower above=")
    return Shape(measure, [row[0] for row in kept], [row[1] for row in kept])


def _cosines_of_pairs(vectors: Vectors) -> Floats:
    left, right = np.split(vectors, 2)
    cosine = row_cosine(left, right).astype(np.float64)
    cosine[~(left.any(axis=1) & right.any(axis=1))] = np.nan  # the angle is undefined
    return cosine


def _kernel_means(vectors: Vectors) -> Floats:
    """Return the mean over all other sentences of exp(-2 |u - v|^2) = exp(4 cos - 4), (N,), for the uniformity."""
    units = _defined(vectors)
    means = np.empty(len(units))
    for start in range(0, len(units), BLOCK):
        kernel = np.exp(4 * (units[start : start + BLOCK] @ units.T) - 4)
        rows = np.arange(len(kernel))
        means[start : start + BLOCK] = kernel.sum(axis=1, dtype=np.float64) - kernel[rows, start + rows]
    return means / (len(units) - 1)


def _cosine_to_others(vectors: Vectors) -> Floats:
    """Return the mean cosine with all other sentences: (N,)."""
    units = _defined(vectors).astype(np.float64)
    own = np.einsum("nd,nd->n", units, units)
    means: Floats = (units @ units.sum(axis=0) - own) / (len(units) - 1)
    return means


def _spectral(vectors: Vectors) -> Floats:
    """Return sums over singular values s of the matrix of unit vectors, x^2 / s and x^2 log(s) / s: (N, 2).

    x is the coordinate of a sentence along the singular direction of s. Over all sentences these add up to the sum of
    s and of s log(s), from which the entropy of s / sum(s) follows.
    """
    units = _defined(vectors).astype(np.float64)
    if not np.isfinite(units).all():
        return np.full((len(units), 2), np.nan)
    wide = units.shape[1] > len(units)
    squares, directions = np.linalg.eigh(units @ units.T if wide else units.T @ units)
    kept = squares > squares.max() * max(units.shape) * np.finfo(np.float64).eps  # the rest is rounding
    values = np.sqrt(squares[kept])
    fractions = (directions[:, kept] * values if wide else units @ directions[:, kept]) ** 2 / values
    return np.stack([fractions.sum(axis=1), fractions @ np.log(values)], axis=1)


def _effective_rank(sums: Floats) -> float:
    total, logs = sums.sum(axis=0)
    return float(np.exp(np.log(total) - logs / total))


def _effective_rank_influence(sums: Floats) -> Floats:
    """Return influences: a weight on a sentence changes singular values by x^2 / 2s."""
    total, logs = sums.sum(axis=0)
    entropy = (sums[:, 0] * logs / total - sums[:, 1]) / (2 * total)
    influence: Floats = len(sums) * _effective_rank(sums) * (entropy - entropy.mean())
    return influence


def _defined(vectors: Vectors) -> Vectors:
    """Return unit vectors; a zero vector becomes NaN."""
    units = unit(vectors)
    units[~units.any(axis=1)] = np.nan
    return units


MEASURES: Mapping[Name, Measure] = {
    # E |u - v|^2 over positive pairs: 0 to 4, lower is better
    "alignment": Measure(
        _cosines_of_pairs, lambda cosine: float(np.mean(2 - 2 * cosine)), lambda cosine: mean_influence(2 - 2 * cosine)
    ),
    # log E exp(-2 |u - v|^2) over unordered pairs of all sentences: -8 to 0, lower is better
    "uniformity": Measure(
        _kernel_means,
        lambda means: float(np.log(np.mean(means))),
        lambda means: 2 * mean_influence(means / np.mean(means)),
    ),
    # mean cosine over unordered pairs of all sentences: below 0 to 1, lower is better
    "anisotropy": Measure(
        _cosine_to_others, lambda cosine: float(np.mean(cosine)), lambda cosine: 2 * mean_influence(cosine)
    ),
    # exp of the entropy of s / sum(s), s the singular values of the uncentred matrix: 1 to width, higher is better
    "effective-rank": Measure(_spectral, _effective_rank, _effective_rank_influence),
}

ALIGNMENT, UNIFORMITY, ANISOTROPY, EFFECTIVE_RANK = (Geometry(name, name, STSB_DEV, "stsb-dev") for name in MEASURES)
