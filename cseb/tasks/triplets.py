"""Triplets of sentences: how often an anchor is closer to its positive than to its negative."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cseb.tasks.influence import Labels, connected, mean_influence
from cseb.tasks.pairs import row_cosine
from cseb.tasks.task import Embed, Influence, Items, Outcome


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
        """Return anchors, positives and negatives."""
        return [*self.anchors, *self.positives, *self.negatives]

    def sha256(self) -> str:
        """Return the hash of the triplets in order."""
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
        """Return the influence of each triplet on the accuracy."""
        return mean_influence(np.where(np.isfinite(items).all(), 100.0 * (items > 0), np.nan))

    def clusters(self) -> Labels:
        """Return equal labels for triplets joined by a chain of shared sentences."""
        return connected(list(zip(self.anchors, self.positives, self.negatives, strict=True)))
