"""Rated pairs and triplets of sentences, scored by the cosine of two embeddings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.tasks.influence import Labels, connected, mean_influence, spearman_influence
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors

Floats = npt.NDArray[np.float64]
COEFFICIENTS = {"spearman": "spearmanr", "pearson": "pearsonr"}  # name in a record: name in scipy.stats


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The pairs of one subset: two lists of N sentences and their N human ratings."""

    name: str
    left: Sequence[str]
    right: Sequence[str]
    gold: Sequence[float]


@dataclass(frozen=True, slots=True, eq=False)
class RatedPairs:
    """The pairs of a task in memory, in one or several subsets.

    The score is 100 x Spearman's rho over all subsets put together ("all"). `detail` holds, each for `spearman` and
    `pearson` and in points: `spearman.all`, `spearman.mean` (plain mean over subsets), `spearman.wmean` (weighted by
    their number of pairs) and, if there are several, one figure for each subset such as `spearman/headlines`.
    `items` are the cosines; all scores are computed from these float32 numbers.

    Source: the "all" setting of Gao et al. 2021, appendix B; mean and wmean as in Conneau & Kiela 2018.
    """

    subsets: tuple[Pairs, ...]

    def sentences(self) -> list[str]:
        return [sentence for each in self.subsets for side in (each.left, each.right) for sentence in side]

    def sha256(self) -> str:
        rows = [
            f"{each.name}\t{a}\t{b}\t{g!r}\n"
            for each in self.subsets
            for a, b, g in zip(each.left, each.right, each.gold, strict=True)
        ]
        return hashlib.sha256("".join(rows).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        left = embed([sentence for each in self.subsets for sentence in each.left])
        right = embed([sentence for each in self.subsets for sentence in each.right])
        return row_cosine(left, right)

    def outcome(self, items: Items) -> Outcome:
        """Return correlations of cosines and ratings, None where undefined."""
        detail: dict[str, float | None] = {}
        for name in COEFFICIENTS:
            detail |= self._figures(name, items)
        return Outcome(detail["spearman.all"], detail)

    def influence(self, items: Items) -> Influence:
        """Return the influence of each pair on the score; subsets are fixed strata."""
        gold = np.array([score for each in self.subsets for score in each.gold])
        strata = np.repeat(np.arange(len(self.subsets)), [len(each.gold) for each in self.subsets])
        return spearman_influence(items, gold, strata)

    def clusters(self) -> Labels:
        return connected([pair for each in self.subsets for pair in zip(each.left, each.right, strict=True)])

    def _figures(self, name: str, cosine: Vectors) -> dict[str, float | None]:
        sizes = [len(each.gold) for each in self.subsets]
        parts = np.split(cosine, np.cumsum(sizes)[:-1])
        each = [correlation(name, part, subset.gold) for part, subset in zip(parts, self.subsets, strict=True)]
        scores = [figure for figure in each if figure is not None]
        whole = len(scores) == len(each)  # a mean over the subsets that happen to be defined would be another quantity
        figures = {
            f"{name}.all": correlation(name, cosine, [score for subset in self.subsets for score in subset.gold]),
            f"{name}.mean": float(np.mean(scores)) if whole else None,
            f"{name}.wmean": float(np.average(scores, weights=sizes)) if whole else None,
        }
        if len(self.subsets) > 1:
            figures |= {f"{name}/{subset.name}": figure for subset, figure in zip(self.subsets, each, strict=True)}
        return figures


def row_cosine(left: Vectors, right: Vectors) -> Vectors:
    """Return the cosine (N,) of each row of `left` (N, D) with that of `right` (N, D); 0 for a zero vector.

    It is computed in float64 and rounded once, so that equal vectors have exactly 1 and pairs of equal sentences tie.
    """
    a, b = left.astype(np.float64), right.astype(np.float64)
    with np.errstate(all="ignore"):
        norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
        cosine = np.clip(np.einsum("nd,nd->n", a, b) / np.where(norms == 0, 1, norms), -1, 1)
    rounded: Vectors = cosine.astype(np.float32)
    return rounded


def correlation(name: str, cosine: Vectors, gold: Sequence[float]) -> float | None:
    """Return 100 x the coefficient of two lists of N numbers, ties by mean rank; None if one is constant or inf."""
    from scipy import stats  # slow to import, and not needed to read data

    x, y = cosine.astype(np.float64), np.asarray(gold, dtype=np.float64)
    if not all(np.isfinite(each).all() and np.ptp(each) > 0 for each in (x, y)):
        return None
    return 100 * float(getattr(stats, COEFFICIENTS[name])(x, y).statistic)


@dataclass(frozen=True, slots=True, eq=False)
class Triplets:
    """N anchors, and for each a sentence that is similar to it and one that is less so.

    The score is the accuracy in percent: the cosine with the positive is above that with the negative. `items` are the
    differences of the two cosines, (N,). Source: TripletEvaluator of sentence-transformers.
    """

    anchors: Sequence[str]
    positives: Sequence[str]
    negatives: Sequence[str]

    def sentences(self) -> list[str]:
        return [*self.anchors, *self.positives, *self.negatives]

    def sha256(self) -> str:
        rows = [list(self.anchors), list(self.positives), list(self.negatives)]
        return hashlib.sha256(json.dumps(["triplets", *rows]).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Return the cosine with the positive less that with the negative."""
        anchors = embed(self.anchors)
        return row_cosine(anchors, embed(self.positives)) - row_cosine(anchors, embed(self.negatives))

    def outcome(self, items: Items) -> Outcome:
        """Return the accuracy; None if a cosine is not finite, or equal cosines show that the encoder collapsed."""
        if not np.isfinite(items).all() or not items.any():
            return Outcome(None, {"accuracy": None})
        accuracy = 100 * float((items > 0).mean())
        return Outcome(accuracy, {"accuracy": accuracy})

    def influence(self, items: Items) -> Influence:
        return mean_influence(np.where(np.isfinite(items).all(), 100.0 * (items > 0), np.nan))

    def clusters(self) -> Labels:
        return connected(list(zip(self.anchors, self.positives, self.negatives, strict=True)))
