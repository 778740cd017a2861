"""The labelled examples of a recommendation: one part selects a method, the other decides; pairs to be rated."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cseb.advice.conclusion import TF_IDF
from cseb.analysis.paired import Sample
from cseb.data.files import write_whole, written
from cseb.data.subset import order
from cseb.embedders.word_vectors import TfIdf
from cseb.errors import BadBenchmark, BadData, BadResults, CsebError
from cseb.reports.comparison import cluster_notes
from cseb.seeds import stream_seed
from cseb.statistics.items import Clusters
from cseb.tasks.evaluate import load_task, score_each
from cseb.tasks.labelled import Clustering
from cseb.tasks.names import parse_tasks
from cseb.tasks.pairs import PairClassification, Pairs, RatedPairs
from cseb.tasks.task import Embed, Items, Loaded, Task, calls_encoder, scale_of
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
    def clusters(self) -> Clusters:
        """Examples that depend on one another, such as questions with one answer."""
        return Clusters.of(self.loaded.clusters())

    @cached_property
    def parts(self) -> tuple[Places, Places]:
        """Positions of the examples that select and of those that decide; a cluster that is used is in one part."""
        labels = self.clusters.labels if self.clusters.used else np.arange(len(self.clusters.labels))
        sizes = np.bincount(labels)
        shuffled = order(len(sizes), 0)
        selects = np.isin(labels, shuffled[np.cumsum(sizes[shuffled]) <= SELECTING * len(labels)])
        return np.flatnonzero(selects), np.flatnonzero(~selects)

    def notes(self) -> list[str]:
        """Return how many examples each part has, and which of them depend on one another."""
        selecting, deciding = map(len, self.parts)
        name = self.task.name
        return [
            f"{selecting:,} examples select pooling and method, {deciding:,} others decide.",
            *cluster_notes({name: self.clusters}, [name]),
        ]

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
        clusters = replace(Clusters.of(self.clusters.labels[part]), used=self.clusters.used)
        return value, clusters.contributions(influence)

    def overlap(self, sentences: set[str]) -> tuple[int, int]:
        """Return the number of distinct texts of the examples, and how many of them are among these sentences."""
        texts = {" ".join(text.split()) for text in self.loaded.sentences()}
        return len(texts), len(texts & sentences)


def repeated(untrained: Sample, seeds: range) -> Sample:
    """Return the sample of an encoder without training, whose score does not depend on the seed, at these seeds."""
    [value], [contributions] = untrained.points.values(), untrained.contributions.values()
    return Sample(untrained.method, dict.fromkeys(seeds, value), dict.fromkeys(seeds, contributions))


MOST = 2000  # sentences that pairs are drawn from
REACH = (1, 20, MOST)  # the second sentence of a pair is the nearest, one of the 20 nearest, or any


def sampled(sentences: Sequence[str]) -> list[str]:
    """Return at most MOST distinct sentences, drawn by seed 0."""
    distinct = list(dict.fromkeys(" ".join(sentence.split()) for sentence in sentences))
    return [distinct[place] for place in order(len(distinct), 0)[:MOST]]


def pairs_to_rate(sentences: Sequence[str], count: int, embeds: Sequence[Embed]) -> list[tuple[str, str]]:
    """Return pairs of distinct sentences from similar to unrelated, in random order; no sentence is in two pairs.

    The encoders propose pairs in turn, so that the choice favours none of them. Raises: BadData.
    """
    if len(sentences) < 2 * count:
        raise BadData(
            f"{count} pairs need {2 * count} distinct sentences; the corpus has {len(sentences)}. Ask for fewer"
        )
    tables = [embed(sentences) for embed in embeds]
    tables = [table / np.maximum(np.linalg.norm(table, axis=1, keepdims=True), 1e-12) for table in tables]
    rng = np.random.Generator(np.random.PCG64(stream_seed(0, "pairs to rate")))
    free, pairs = list(range(len(sentences))), []
    for number in range(count):
        first, table = free.pop(0), tables[number % len(tables)]
        nearest = np.argsort(-(table[free] @ table[first]), kind="stable")
        reach = min(REACH[number // len(tables) % len(REACH)], len(free))
        second = free.pop(int(nearest[rng.integers(reach)]))
        pairs.append((sentences[first], sentences[second]))
    return [pairs[place] for place in order(count, 0)]


def refuse_written(file: Path) -> None:
    """Refuse to replace a file of pairs. Raises: BadResults."""
    if file.exists():
        raise BadResults(f"{file} exists and may contain ratings; rename it to write new pairs")


def write_pairs(file: Path, pairs: Sequence[tuple[str, str]]) -> None:
    """Write pairs as CSV, with an empty column `score` and the mark by which Excel knows UTF-8. Raises: BadResults."""
    refuse_written(file)
    text = io.StringIO()
    csv.writer(text).writerows([("sentence1", "sentence2", "score"), *((*pair, "") for pair in pairs)])
    with written(file):
        write_whole(file, [text.getvalue().encode("utf-8-sig")])
