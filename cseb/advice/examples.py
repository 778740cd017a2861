"""The labelled examples of a recommendation in two parts: one selects a method, the other decides whether it helps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.advice.conclusion import TF_IDF
from cseb.analysis.paired import Sample
from cseb.data.subset import order
from cseb.errors import BadBenchmark, BadData, CsebError
from cseb.statistics.items import Clusters
from cseb.tasks.evaluate import load_task, score_each
from cseb.tasks.labelled import Clustering
from cseb.tasks.names import parse_tasks
from cseb.tasks.pair_classification import PairClassification
from cseb.tasks.pairs import Pairs, RatedPairs
from cseb.tasks.task import Items, Loaded, Task, calls_encoder, scale_of
from cseb.tasks.words import TfIdf
from cseb.text import quantity

Places = npt.NDArray[np.int64]
FEWEST = 30  # examples: with fewer, only differences of many points can be detected
SELECTING = 1 / 3  # fraction of the examples that selects; a rough order is enough there


@dataclass(frozen=True)
class Examples:
    """A task of labelled examples."""

    task: Task
    loaded: Loaded

    @classmethod
    def read(cls, word: str, data_dir: str) -> Examples:
        """Load a task by name or a user's file. Raises: CsebError if it cannot decide."""
        refusal = f"`eval` is {word!r}; give one file or task of rated pairs, labels, or questions and answers"
        tasks = parse_tasks(word)
        if len(tasks) > 1 or scale_of(tasks[0].protocol):
            raise BadBenchmark(refusal)
        loaded = load_task(tasks[0], Path(data_dir) if data_dir else None)
        several = isinstance(loaded, RatedPairs) and len(loaded.subsets) > 1
        if several or calls_encoder(loaded) or isinstance(loaded, Clustering):
            raise BadBenchmark(refusal)
        examples = cls(tasks[0], loaded)
        if (count := len(loaded.clusters())) < FEWEST:
            raise BadData(
                f"{word} has {quantity(count, 'example')}; {FEWEST} or more are needed. Write pairs to rate with "
                "`make_pairs`"
            )
        return examples

    @cached_property
    def parts(self) -> tuple[Places, Places]:
        """Positions of the examples that select and of those that decide; a sentence is in one part only."""
        clusters = Clusters.of(self.loaded.clusters())
        labels = clusters.labels if clusters.used else np.arange(len(clusters.labels))
        sizes = np.bincount(labels)
        shuffled = order(len(sizes), 0)
        selects = np.isin(labels, shuffled[np.cumsum(sizes[shuffled]) <= SELECTING * len(labels)])
        return np.flatnonzero(selects), np.flatnonzero(~selects)

    def sample(self, method: str, items: Mapping[int, Items], part: Places) -> Sample:
        """Return the scores of a method on a part. items: what it did on each example, by seed. Raises: BadData."""
        scores = {seed: self._score(each, part) for seed, each in items.items()}
        contributions = {seed: each for seed, (_, each) in scores.items()}
        return Sample(method, {seed: value for seed, (value, _) in scores.items()}, contributions)

    def scored(
        self, items: Mapping[str, Mapping[int, Items]], failures: dict[str, str] | None = None
    ) -> dict[str, tuple[Sample, Sample]]:
        """Return the samples of methods on both parts; `failures` gets why one has no score, without it that raises."""
        samples: dict[str, tuple[Sample, Sample]] = {}
        for method, runs in items.items():
            try:
                selecting, deciding = (self.sample(method, runs, part) for part in self.parts)
                samples[method] = selecting, deciding
            except BadData as error:
                if failures is None:
                    raise
                failures[method] = str(error)
        return samples

    def tf_idf(self, training: Sequence[str], failures: dict[str, str]) -> dict[str, dict[int, Items]]:
        """Return what TF-IDF, with the word counts of `training`, does on each example; `failures` gets an error."""
        [result] = score_each([(self.task, self.loaded)], TfIdf(training), alone=False)
        if isinstance(result, CsebError):
            failures[TF_IDF] = str(result)
            return {}
        return {TF_IDF: {0: result[1]}}

    def _score(self, items: Items, part: Places) -> tuple[float, npt.NDArray[np.float64]]:
        """Return the score of a part, in points, and what each cluster of its examples contributes to it.

        Correlation and average precision are computed from these examples alone; other scores are means over examples.
        """
        if isinstance(self.loaded, PairClassification):
            pairs_of_part = self.loaded.part(part)
            value, influence = pairs_of_part.outcome(items[part]).value, pairs_of_part.influence(items[part])
        elif isinstance(self.loaded, RatedPairs):
            [pairs] = self.loaded.subsets
            left, right, gold = ([column[i] for i in part] for column in (pairs.left, pairs.right, pairs.gold))
            rated = RatedPairs((Pairs(pairs.name, left, right, gold),))
            value, influence = rated.outcome(items[part]).value, rated.influence(items[part])
        else:
            value, influence = self.loaded.outcome(items).value, self.loaded.influence(items)[part]
            value, influence = value and value + float(influence.mean()), influence - influence.mean()
        if value is None or not np.isfinite(influence).all():
            raise BadData("the score is undefined: all similarities, or all labels of a part, are equal or not finite")
        return value, Clusters.of(self.loaded.clusters()[part]).contributions(influence)

    def overlap(self, sentences: set[str]) -> tuple[int, int]:
        """Return the number of distinct texts of the examples, and how many of them are among these sentences."""
        texts = {" ".join(text.split()) for text in self.loaded.sentences()}
        return len(texts), len(texts & sentences)


def repeated(untrained: Sample, seeds: range) -> Sample:
    """Return the sample of an encoder without training, whose score does not depend on the seed, at these seeds."""
    [value], [contributions] = untrained.points.values(), untrained.contributions.values()
    return Sample(untrained.method, dict.fromkeys(seeds, value), dict.fromkeys(seeds, contributions))
