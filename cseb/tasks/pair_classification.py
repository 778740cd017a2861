"""Pairs of sentences labelled yes or no, such as duplicate questions: how well the cosine separates the two classes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.errors import BadData
from cseb.tasks.influence import Labels, connected, deal
from cseb.tasks.pairs import row_cosine
from cseb.tasks.task import Embed, Influence, Items, Outcome

Floats = npt.NDArray[np.float64]


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
