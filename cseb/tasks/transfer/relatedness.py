"""STS-B and SICK-R, supervised: a linear layer on two embeddings is trained to predict the ratings.

Tables since 2021 report the unsupervised tasks of these names, older tables the supervised ones.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cseb.tasks.influence import Labels, connected, spearman_influence
from cseb.tasks.pairs import Pairs, correlation
from cseb.tasks.senteval import TABLES, Table, data_root, read_table
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors
from cseb.tasks.transfer.labelled import features_of
from cseb.tasks.transfer.linear import SEED, Adam, initial, softmax

GRADES = 5  # the classes are the whole ratings 1 to 5
BATCH, RATE = 64, 1e-3
PASSES, MOST = 50, 1000  # of one round; no round begins after more passes than this
FAILURES = 4  # in all: this many rounds without a gain end training


@dataclass(frozen=True, slots=True, eq=False)
class RatedSplits:
    """Train, dev and test pairs of a task in memory.

    `items` (N, 2) are the predicted rating of each test pair and the dev Spearman x 100 that selected the weights; NaN
    if the embeddings are not finite. The score is 100 x Spearman's rho of predictions and ratings;
    `detail` has it as `spearman`, and `pearson` (in points), `mse` (in squared ratings) and `dev`.
    """

    train: Pairs
    dev: Pairs
    test: Pairs

    def sentences(self) -> list[str]:
        """Return left and right sentences of the three parts."""
        return [text for part in (self.train, self.dev, self.test) for side in (part.left, part.right) for text in side]

    def sha256(self) -> str:
        """Return the hash of sentences and ratings, part by part, in order."""
        rows = [
            f"{place}\t{a}\t{b}\t{g!r}\n"
            for place, part in enumerate((self.train, self.dev, self.test))
            for a, b, g in zip(part.left, part.right, part.gold, strict=True)
        ]
        return hashlib.sha256("".join(rows).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Train, select and return predictions."""
        train, dev, test = (
            features_of(list(zip(part.left, part.right, strict=True)), embed)
            for part in (self.train, self.dev, self.test)
        )
        if not all(np.isfinite(each).all() for each in (train, dev, test)):
            return np.full((len(test), 2), np.nan, dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # extreme embeddings
            weights, score = fit(train, grades(self.train.gold), dev, self.dev.gold)
            predicted = expected(test, weights)
        return np.column_stack([predicted, np.full(len(predicted), score)]).astype(np.float32)

    def outcome(self, items: Items) -> Outcome:
        """Return correlations and squared error, None where undefined."""
        predicted, gold = items[:, 0], self.test.gold
        error = float(((predicted.astype(np.float64) - gold) ** 2).mean())
        detail = {name: correlation(name, predicted, gold) for name in ("spearman", "pearson")}
        finite = math.isfinite(error)
        return Outcome(
            detail["spearman"],
            detail | {"mse": error if finite else None, "dev": float(items[0, 1]) if finite else None},
        )

    def influence(self, items: Items) -> Influence:
        """Return the influence of each test pair on Spearman's rho."""
        gold = np.asarray(self.test.gold)
        return spearman_influence(items[:, 0], gold, np.zeros(len(gold), dtype=np.int64))

    def clusters(self) -> Labels:
        """Return equal labels for pairs joined by a chain of shared sentences."""
        return connected(list(zip(self.test.left, self.test.right, strict=True)))


def grades(ratings: Sequence[float]) -> Vectors:
    """Return weights (N, 5) of the grades 1 to 5 whose mean is the rating: 3.2 is 0.8 of a 3 and 0.2 of a 4.

    Below 1 weight is missing, as in the reference. Source: Tai et al. 2015, section 4.2.
    """
    closeness = 1 - np.abs(np.asarray(ratings)[:, None] - np.arange(1, GRADES + 1))
    weights: Vectors = np.maximum(closeness, 0).astype(np.float32)
    return weights


def fit(train: Vectors, targets: Vectors, dev: Vectors, ratings: Sequence[float]) -> tuple[Vectors, float]:
    """Return weights (5, D + 1), the last column being the bias, and their dev Spearman in points.

    Squared error of the softmax, Adam, no L2; after every round of passes the weights with the best dev score are kept.
    """
    x = with_ones(train)
    stream = np.random.RandomState(SEED)
    weights = np.column_stack(initial(train.shape[1], GRADES))
    optimiser = Adam(RATE, weights)
    kept, best, failures = weights, -math.inf, 0
    for _ in range(MOST // PASSES + 1):
        for _ in range(PASSES):
            order = stream.permutation(len(x))
            for start in range(0, len(x), BATCH):
                rows = order[start : start + BATCH]
                batch = x[rows]  # (B, D + 1)
                shares = softmax(batch @ weights.T)  # (B, 5)
                error = 2 / shares.size * (shares - targets[rows])
                error = shares * (error - (shares * error).sum(axis=1, keepdims=True))  # through the softmax
                optimiser.move(weights, error.T @ batch)
        score = (
            correlation("spearman", expected(dev, weights), ratings) or 0.0
        )  # equal predictions for all pairs score 0
        if score > best:
            kept, best = weights.copy(), score
        else:
            failures += 1  # in all, not in a row
            if failures == FAILURES:
                break
    return kept, best


def expected(features: Vectors, weights: Vectors) -> Vectors:
    """Return the mean grade of each row (N, D), computed in float64: (N,)."""
    shares = softmax(with_ones(features) @ weights.T)
    return shares @ np.arange(1.0, GRADES + 1)


def with_ones(features: Vectors) -> Vectors:
    """Return the features with a column of ones, whose weight is the bias."""
    return np.column_stack([features, np.ones(len(features), dtype=np.float32)])


@dataclass(frozen=True, slots=True)
class Relatedness:
    """Pairs rated by humans; train, dev and test are those of the data set.

    Source: Tai et al. 2015, as Conneau & Kiela 2018 have it, except that Spearman, not Pearson, chooses the weights,
    as in the code of Gao et al. 2021.
    """

    name: str
    tables: tuple[Table, Table, Table]
    version: int = 1
    protocol: str = "senteval-relatedness@1"

    def load(self, data_dir: Path | None) -> RatedSplits:
        """Return the checked files; without `data_dir`, fetch them from the hub. Raises: BadData."""
        root = data_root(data_dir)
        return RatedSplits(*(_ordered(*read_table(table, root)) for table in self.tables))


def _ordered(part: Pairs) -> Pairs:
    """Return the pairs sorted by tokens of both sentences and rating; minibatches depend on the order."""
    rows = sorted(
        zip(part.left, part.right, part.gold, strict=True), key=lambda row: (*(len(t.split()) for t in row[:2]), row[2])
    )
    left, right, gold = zip(*rows, strict=True)
    return Pairs(part.name, left, right, gold)


STSB_FINETUNE = Relatedness("stsb-finetune", (TABLES["stsb-train"], TABLES["stsb-dev"], TABLES["stsb-test"]))
SICKR_FINETUNE = Relatedness("sickr-finetune", (TABLES["sick-train"], TABLES["sick-dev"], TABLES["sick-test"]))
