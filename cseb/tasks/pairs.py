"""Pairs and triplets of sentences, rated or labelled yes and no, scored by the cosine of two embeddings."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.errors import BadData
from cseb.tasks.influence import Labels, connected, deal, mean_influence, spearman_influence
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


@dataclass(frozen=True, slots=True, eq=False)
class PairClassification:
    """N pairs of sentences and their class, 1 (yes) or 0 (no).

    The score is 100 x average precision of the pairs ranked by cosine; pairs of equal cosine share a rank. `detail`
    adds `accuracy` and `f1` (of yes). Their thresholds come from dev data: those of a fold are the best on the other
    folds. `items` are the cosines, (N,). folds: (N,), the fold of each pair.

    Source: mteb's and sentence-transformers' pair classification; those choose the thresholds on the test pairs.
    """

    left: Sequence[str]
    right: Sequence[str]
    labels: Labels
    folds: Labels

    def sentences(self) -> list[str]:
        return [*self.left, *self.right]

    def sha256(self) -> str:
        rows = [list(self.left), list(self.right), self.labels.tolist(), self.folds.tolist()]
        return hashlib.sha256(json.dumps(["pair classification", *rows]).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        return row_cosine(embed(self.left), embed(self.right))

    def outcome(self, items: Items) -> Outcome:
        """Return average precision, accuracy and F1; None for each if all cosines are equal or one is not finite."""
        if not _defined(items, self.labels):
            return Outcome(None, dict.fromkeys(("average_precision", "accuracy", "f1")))
        scores = items.astype(np.float64)
        precision = 100 * float(_precisions(scores, self.labels)[self.labels == 1].mean())
        by_accuracy, by_f1 = (self._predictions(scores, f1=f1) for f1 in (False, True))
        accuracy = 100 * float((by_accuracy == self.labels).mean())
        hits = int((by_f1 & self.labels).sum())
        f1 = 100 * 2 * hits / int(by_f1.sum() + self.labels.sum())
        return Outcome(precision, {"average_precision": precision, "accuracy": accuracy, "f1": f1})

    def influence(self, items: Items) -> Influence:
        """Return the influence of each pair on average precision: its derivative by the weight of the pair, times N."""
        if not _defined(items, self.labels):
            return np.full(len(items), np.nan)
        scores, labels = items.astype(np.float64), self.labels
        precisions, positives = _precisions(scores, labels), int(labels.sum())
        _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
        ahead = np.cumsum(counts)[place]  # pairs whose cosine is as high or higher
        # A pair counts in the precision at every positive pair of equal or lower cosine.
        first, second = (_sums_at_or_below(scores, labels * values) for values in (1 / ahead, precisions / ahead))
        own = labels * (precisions - precisions[labels == 1].mean())
        moves: Influence = 100 * len(items) / positives * (own + labels * first - second)
        return moves

    def clusters(self) -> Labels:
        return connected(list(zip(self.left, self.right, strict=True)))

    def part(self, places: Labels) -> PairClassification:
        """Return the task on some of its pairs."""
        left, right = ([side[place] for place in places] for side in (self.left, self.right))
        return PairClassification(left, right, self.labels[places], self.folds[places])

    def _predictions(self, scores: Floats, *, f1: bool) -> Labels:
        """Return the predicted classes (N,), the threshold of a fold being the best on the other folds."""
        predicted = np.empty(len(scores), dtype=np.int64)
        for fold in np.unique(self.folds):
            test = self.folds == fold
            predicted[test] = scores[test] >= best_threshold(scores[~test], self.labels[~test], f1=f1)
        return predicted


def pair_classification(
    left: Sequence[str], right: Sequence[str], labels: Sequence[int], folds: int, name: str
) -> PairClassification:
    """Return the task with its folds; pairs joined by shared sentences are in one fold. Raises: BadData."""
    classes = np.array(labels, dtype=np.int64)
    if len(set(labels)) < 2:
        raise BadData(f"{name} labels every pair {'yes' if labels[0] else 'no'}; pairs of both classes are needed")
    groups = connected(list(zip(left, right, strict=True)))
    return PairClassification(left, right, classes, deal(groups, classes, folds, name))


def best_threshold(scores: Floats, labels: Labels, *, f1: bool) -> float:
    """Return the score from which predicting yes has the highest accuracy, or F1; the highest of equally good ones.

    It lies halfway between two scores, or is infinite where one class for all pairs is best.
    """
    order = np.argsort(-scores, kind="stable")
    ranked = scores[order]
    hits = np.concatenate([[0], np.cumsum(labels[order])])  # by how many of the first pairs are predicted yes
    predicted, positives = np.arange(len(scores) + 1), hits[-1]
    # F1, or accuracy but for a constant and a factor
    quality = 2 * hits / np.maximum(predicted + positives, 1) if f1 else 2 * hits - predicted
    thresholds = np.concatenate([[np.inf], (ranked[:-1] + ranked[1:]) / 2, [-np.inf]])
    between = np.concatenate([[True], ranked[:-1] > ranked[1:], [True]])
    return float(thresholds[np.argmax(np.where(between, quality, -np.inf))])


def _precisions(scores: Floats, labels: Labels) -> Floats:
    """Return for each pair the fraction of yes among the pairs whose score is as high or higher: (N,)."""
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    hits = np.bincount(place, weights=labels)
    precisions: Floats = (np.cumsum(hits) / np.cumsum(counts))[place]
    return precisions


def _sums_at_or_below(scores: Floats, values: Floats) -> Floats:
    """Return for each pair the sum of the values of all pairs whose score is as low or lower: (N,)."""
    _, place = np.unique(scores, return_inverse=True)
    sums: Floats = np.cumsum(np.bincount(place, weights=values), dtype=np.float64)[place]
    return sums


def _defined(items: Items, labels: Labels) -> bool:
    return bool(np.isfinite(items).all() and np.ptp(items) > 0 and np.ptp(labels) > 0)
