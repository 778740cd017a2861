"""Labelled sentences: classification by a logistic regression on embeddings, and clustering by K-means."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.errors import BadData
from cseb.tasks.influence import SEED, Labels, connected, deal, mean_influence
from cseb.tasks.retrieval import unit
from cseb.tasks.task import Embed, Influence, Items, Outcome, Vectors

Floats = npt.NDArray[np.float64]
RESTARTS = 10


@dataclass(frozen=True, slots=True, eq=False)
class Labelled:
    """N sentences and the numbers of their labels, from 0."""

    texts: Sequence[str]
    labels: Labels

    def sha256(self, how: str) -> str:
        """Return the hash of sentences and labels in order, and of `how` they are used."""
        return hashlib.sha256(json.dumps([how, list(self.texts), self.labels.tolist()]).encode()).hexdigest()

    def same(self) -> Labels:
        """Return groups of equal sentences, (N,)."""
        return connected([(text,) for text in self.texts])


def labelled(texts: Sequence[str], labels: Sequence[str], name: str) -> Labelled:
    """Return the sentences with numbered labels, in the order of names. Raises: BadData with fewer than two labels."""
    names, numbers = np.unique(np.array(labels, dtype=object).astype(str), return_inverse=True)
    if len(names) < 2:
        content = f"only the label {str(names[0])[:40]!r}" if len(names) else "no row"
        raise BadData(f"{name} has {content}; two labels or more are needed")
    return Labelled(texts, numbers.astype(np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class _OnLabelled:
    """A task on labelled sentences."""

    data: Labelled

    def sentences(self) -> Sequence[str]:
        return self.data.texts

    def clusters(self) -> Labels:
        return self.data.same()


@dataclass(frozen=True, slots=True, eq=False)
class Classification(_OnLabelled):
    """K-fold cross-validation of a logistic regression, fitted until it converges.

    Features are standardised on the training part of each fold, so that the effect of the L2 penalty (C = 1) does not
    depend on the length of embeddings. This is not the protocol of SentEval, whose classifier stops early. Folds are
    stratified by label; equal sentences are in one fold. The score is 100 x accuracy over all N predictions; `detail`
    adds `macro_f1` (a label that is never predicted has 0) and `accuracy/fold1`, ... Items are the predicted numbers.
    """

    folds: Labels

    def sha256(self) -> str:
        return self.data.sha256(f"classification {self.folds.tolist()}")

    def items(self, embed: Embed) -> Items:
        vectors = embed(self.data.texts)
        if _collapsed(vectors):
            return np.full(len(vectors), np.nan, dtype=np.float32)
        predicted = np.empty(len(vectors), dtype=np.float32)
        for fold in np.unique(self.folds):
            test = self.folds == fold
            predicted[test] = converged(vectors[~test], self.data.labels[~test], vectors[test])
        return predicted

    def outcome(self, items: Items) -> Outcome:
        right = items == self.data.labels
        folds = {f"accuracy/fold{number + 1}": self.folds == number for number in range(self.folds.max() + 1)}
        if not np.isfinite(items).all():
            return Outcome(None, dict.fromkeys(("accuracy", "macro_f1", *folds)))
        accuracy = 100 * float(right.mean())
        figures: dict[str, float | None] = {"accuracy": accuracy, "macro_f1": 100 * macro_f1(items, self.data.labels)}
        return Outcome(accuracy, figures | {name: 100 * float(right[fold].mean()) for name, fold in folds.items()})

    def influence(self, items: Items) -> Influence:
        """Return the influence of each sentence on accuracy, for fixed classifiers."""
        right = 100.0 * (items == self.data.labels)
        return mean_influence(np.where(np.isfinite(items).all(), right, np.nan))


@dataclass(frozen=True, slots=True, eq=False)
class Clustering(_OnLabelled):
    """K-means on embeddings of length 1 against the labels.

    k-means++ with ten restarts and a fixed seed. The score is 100 x V-measure (beta = 1); `detail` adds `nmi` (with the
    arithmetic mean, which is the V-measure by another name), `ari`, `homogeneity` and `completeness`. Items are the
    number of the cluster of each sentence.

    Source: Rosenberg & Hirschberg 2007; Hubert & Arabie 1985 for the adjusted Rand index.
    """

    clusters_wanted: int

    def sha256(self) -> str:
        return self.data.sha256(f"clustering {self.clusters_wanted}")

    def items(self, embed: Embed) -> Items:
        from sklearn.cluster import KMeans
        from sklearn.exceptions import ConvergenceWarning

        vectors = unit(embed(self.data.texts))
        if _collapsed(vectors):
            return np.full(len(vectors), np.nan, dtype=np.float32)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct vectors than clusters
            numbers = KMeans(self.clusters_wanted, n_init=RESTARTS, random_state=SEED).fit_predict(vectors)
        clusters: Items = numbers.astype(np.float32)
        return clusters

    def outcome(self, items: Items) -> Outcome:
        from sklearn import metrics

        names = ("v_measure", "nmi", "ari", "homogeneity", "completeness")
        if not np.isfinite(items).all():
            return Outcome(None, dict.fromkeys(names))
        labels, clusters = self.data.labels, items.astype(np.int64)
        homogeneity, completeness, v_measure = metrics.homogeneity_completeness_v_measure(labels, clusters)
        nmi, ari = metrics.normalized_mutual_info_score(labels, clusters), metrics.adjusted_rand_score(labels, clusters)
        figures = [100 * float(each) for each in (v_measure, nmi, ari, homogeneity, completeness)]
        return Outcome(figures[0], dict(zip(names, figures, strict=True)))

    def influence(self, items: Items) -> Influence:
        """Return the influence of each sentence on V-measure, for fixed clusters.

        Delta method on V = 2 I / (H(label) + H(cluster)); a sentence changes an entropy by its surprisal.
        """
        if not np.isfinite(items).all():
            return np.full(len(items), np.nan)
        labels, clusters = self.data.labels, items.astype(np.int64)
        label, cluster, both = (
            _surprisal(each) for each in (labels, clusters, labels * (clusters.max() + 1) + clusters)
        )
        shared, entropies = label + cluster - both, label + cluster
        information, total = float(shared.mean()), float(entropies.mean())
        return mean_influence(100 * 2 * (shared * total - information * entropies) / total**2)


def classification(data: Labelled, folds: int, name: str) -> Classification:
    """Return the task with its folds. Raises: BadData with too few sentences, or a label of a single sentence."""
    same = data.same()
    distinct = np.unique(same, return_index=True)[1]
    alone = np.flatnonzero(np.bincount(data.labels[distinct], minlength=data.labels.max() + 1) < 2)
    fold = deal(same, data.labels, folds, name)
    if len(alone):
        text = data.texts[int(np.flatnonzero(data.labels == alone[0])[0])]
        raise BadData(
            f"{name}: the label of {text[:40]!r} is on one distinct sentence only; it cannot be both trained and "
            "tested on, so leave it out or add sentences"
        )
    return Classification(data, fold)


def clustering(data: Labelled, clusters: int, name: str) -> Clustering:
    """Return the task; 0 clusters means one per label. Raises: BadData with more clusters than sentences."""
    wanted = clusters or int(data.labels.max()) + 1
    if not 2 <= wanted <= len(data.texts):
        raise BadData(f"{name} allows 2 to {len(data.texts)} clusters, as many as sentences; {wanted} asked for")
    return Clustering(data, wanted)


def converged(train: Vectors, labels: Labels, test: Vectors) -> Labels:
    """Return the labels of `test` predicted by a logistic regression on standardised `train`."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=1.0, max_iter=10_000))
    predicted: Labels = model.fit(train.astype(np.float64), labels).predict(test.astype(np.float64))
    return predicted


def macro_f1(predicted: Items, labels: Labels) -> float:
    """Return the mean F1 over the labels that occur."""
    each = [
        2 * np.sum((predicted == label) & (labels == label)) / (np.sum(predicted == label) + np.sum(labels == label))
        for label in np.unique(labels)
    ]
    return float(np.mean(each))


def _surprisal(codes: Labels) -> Floats:
    """Return -log of the fraction of items with the same code: (N,)."""
    _, place = np.unique(codes, return_inverse=True)
    surprisal: Floats = -np.log(np.bincount(place) / len(codes))[place]
    return surprisal


def _collapsed(vectors: Vectors) -> bool:
    return not np.isfinite(vectors).all() or bool((vectors == vectors[:1]).all())
