"""`shotsK:TASK` and `setfitK:TASK`: classification with K labelled examples of each class, over several draws."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from cseb.data.lines import class_pairs
from cseb.data.subset import order
from cseb.errors import BadData, BadSpec, CsebError
from cseb.progress import tell
from cseb.seeds import VIEWS, stream_seed
from cseb.tasks.influence import Labels, connected, mean_influence
from cseb.tasks.labelled import Classification
from cseb.tasks.retrieval import Ranked, unit
from cseb.tasks.task import Embed, Influence, Items, Loaded, Outcome, Task
from cseb.tasks.transfer.labelled import LabelledTexts, features_of
from cseb.tasks.transfer.linear import Problem, Rows
from cseb.tasks.transfer.schemes import Converged, folds
from cseb.text import quantity

DRAWS = 10
C = 10.0  # inverse strength of the L2 penalty on features of length 1
POOL = 5  # without a training part, one of five folds has the examples that are drawn


@dataclass(frozen=True, slots=True, eq=False)
class FewLabels:
    """A linear classifier is trained on K examples of each class and scored on the test part, for each draw.

    Examples are drawn from the training part; of a task without one, from a fifth of its examples, stratified by class,
    and the others are scored. The draws are the same for every encoder, and a draw of K is part of that of more. The
    classifier is a converged logistic regression on features of length 1 (C = 10). `items` (N, draws) are 1 where the
    prediction for an example is right. The score is the mean accuracy; `detail` adds its standard deviation over draws.
    """

    texts: list[tuple[str, ...]]
    labels: Labels
    draws: list[Rows]  # examples to train on
    test: Rows

    def sentences(self) -> list[str]:
        return [text for texts in self.texts for text in texts]

    def sha256(self) -> str:
        rows = ["\t".join([str(label), *texts]) for texts, label in zip(self.texts, self.labels, strict=True)]
        rows += [f"{draw.tolist()}" for draw in (*self.draws, self.test)]
        return hashlib.sha256("\n".join(rows).encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        features = unit(features_of(self.texts, embed))
        if not np.isfinite(features).all():
            return np.full((len(self.test), len(self.draws)), np.nan, dtype=np.float32)
        learner = Converged(features, self.labels, int(self.labels.max()) + 1)
        trained = learner.fit_all([Problem(draw, None, (C,)) for draw in self.draws])
        right = [classifier.predict(self.test) == self.labels[self.test] for [classifier] in trained]
        return np.stack(right, axis=1).astype(np.float32)

    def outcome(self, items: Items) -> Outcome:
        if not np.isfinite(items).all():
            return Outcome(None, dict.fromkeys(("accuracy", "accuracy.sd")))
        by_draw = 100 * items.astype(np.float64).mean(axis=0)
        accuracy = float(by_draw.mean())
        return Outcome(accuracy, {"accuracy": accuracy, "accuracy.sd": float(by_draw.std(ddof=1))})

    def influence(self, items: Items) -> Influence:
        """Return the influence of each test example on the accuracy, for fixed draws."""
        return mean_influence(100 * items.astype(np.float64).mean(axis=1))

    def clusters(self) -> Labels:
        return connected([self.texts[row] for row in self.test])


@dataclass(frozen=True, slots=True)
class Shots:
    """Another task with `shots` labelled examples of each class."""

    shots: int
    task: Task

    @property
    def name(self) -> str:
        return f"shots{self.shots}:{self.task.name}"

    @property
    def version(self) -> int:
        return self.task.version

    @property
    def protocol(self) -> str:
        """Return, for example, few-labels(shots=8 draws=10)@1."""
        return f"few-labels(shots={self.shots} draws={DRAWS})@1"

    def load(self, data_dir: Path | None) -> FewLabels:
        """Return the data with their draws. Raises: BadData for a task without classes, or with too few examples."""
        return drawn(self.name, self.task.load(data_dir), self.shots, DRAWS)


def drawn(name: str, loaded: Loaded, shots: int, draws: int) -> FewLabels:
    """Return a task with the first `draws` draws of `shots` examples of each class. Raises: BadData."""
    texts, labels, pool, test = _examples(name, loaded)
    by_class = [pool[labels[pool] == label] for label in range(int(labels.max()) + 1)]
    if (fewest := min(map(len, by_class))) < shots:
        advice = f"use {fewest} or fewer instead of {shots}" if fewest else "add some, or leave the class out"
        raise BadData(f"{name}: a class has {quantity(fewest, 'example')} to draw from; {advice}")
    chosen = [
        [rows[order(len(rows), draw * len(by_class) + label)[:shots]] for label, rows in enumerate(by_class)]
        for draw in range(draws)
    ]
    return FewLabels(texts, labels, [np.concatenate(rows) for rows in chosen], test)


def _examples(name: str, loaded: Loaded) -> tuple[list[tuple[str, ...]], Labels, Rows, Rows]:
    """Return examples, their labels, and the rows to draw from and to score. Raises: BadData."""
    if isinstance(loaded, Classification):
        pool, test = (np.flatnonzero(part) for part in (loaded.folds == 0, loaded.folds != 0))
        return [(text,) for text in loaded.data.texts], loaded.data.labels, pool, test
    if isinstance(loaded, Ranked) and (classes := _classes(loaded)) is not None:
        documents, queries = np.arange(len(loaded.documents)), len(loaded.documents) + np.arange(len(loaded.queries))
        return [(text,) for text in (*loaded.documents, *loaded.queries)], classes, documents, queries
    if not isinstance(loaded, LabelledTexts):
        raise BadData(
            f"{name} has no classes; few labels need a task such as trec, banking77, clinc150 or FILE:classification"
        )
    texts = [example for part in loaded.parts for example in part.texts]
    labels = np.concatenate([part.labels for part in loaded.parts]).astype(np.int64)
    if len(loaded.parts) == 1:
        test, pool = folds(labels, POOL)[0]
        return texts, labels, pool, test
    train, scored = len(loaded.parts[0].labels), len(loaded.scored.labels)
    return texts, labels, np.arange(train), np.arange(len(labels) - scored, len(labels))


def _classes(ranked: Ranked) -> Labels | None:
    """Return the classes (D + Q,) of documents and queries if queries of one group share their relevant documents.

    None if they do not, or a document is relevant to two groups or to none.
    """
    by_group = {int(group): tuple(rows) for group, rows in zip(ranked.groups, ranked.relevant, strict=True)}
    alike = all(by_group[int(group)] == tuple(rows) for group, rows in zip(ranked.groups, ranked.relevant, strict=True))
    documents = [row for rows in by_group.values() for row in rows]
    if not alike or sorted(documents) != list(range(len(ranked.documents))):
        return None
    numbers = {group: number for number, group in enumerate(sorted(by_group))}
    labels = np.empty(len(documents), dtype=np.int64)
    for group, rows in by_group.items():
        labels[list(rows)] = numbers[group]
    return np.concatenate([labels, [numbers[int(group)] for group in ranked.groups]])


SETFIT_DRAWS = 5
BATCH = 16  # pairs
RATE = 2e-5
OPTIONS = re.compile(r"\((?:rate=([0-9]*\.?[0-9]+(?:e-?[0-9]+)?))?_?(?:steps=([1-9][0-9]{0,6}))?\)")


@dataclass(frozen=True, slots=True, eq=False)
class FineTuned(FewLabels):
    """As `FewLabels`, but of each draw a copy of the encoder is fine-tuned on pairs of its examples first.

    The loss is the squared difference of cosine and 1 (one class) or 0 (two classes). See `SetFit`.
    """

    rate: float
    steps: int  # at most; 0 for all pairs once
    calls_encoder: ClassVar[bool] = True

    def sha256(self) -> str:
        return hashlib.sha256(f"{FewLabels.sha256(self)} {self.rate} {self.steps}".encode()).hexdigest()

    def items(self, embed: Embed) -> Items:
        """Fine-tune, train and score for each draw. Raises: CsebError for an encoder that cannot be trained."""
        if (tune := getattr(embed, "tune", None)) is None:
            raise CsebError("setfit trains the encoder, and this one cannot be trained; take shotsK:TASK, or a folder")
        columns = []
        for number, draw in enumerate(self.draws):
            tell("SetFit, draw", number, len(self.draws))
            texts = [self.texts[row][0] for row in draw]
            rng = np.random.Generator(np.random.PCG64(stream_seed(number, f"{VIEWS}/setfit")))
            pairs = class_pairs(texts, self.labels[draw], rng, most=self.steps * BATCH)
            tuned = tune(pairs, self.rate, number)
            rows = np.concatenate([draw, self.test])
            shown = [self.texts[row] for row in rows]
            drawn_rows, test = np.split(np.arange(len(rows)), [len(draw)])
            columns.append(FewLabels(shown, self.labels[rows], [drawn_rows], test).items(tuned))
        return np.concatenate(columns, axis=1)


@dataclass(frozen=True, slots=True)
class SetFit:
    """Another task, scored as SetFit would with this encoder and `shots` labelled examples of each class.

    Draws are the first five of `shotsK:TASK`, and so is the classifier. Pairs are drawn as by setfit 1.2:
    for each example 20 of one class and 20 of two, in batches of 16, once. Fine-tuning has AdamW, a warm-up of a tenth,
    a linear decline, gradients of norm 1 at most, and all weights of the encoder.

    Source: Tunstall et al. 2022, arXiv:2209.11055, section 3 and appendix; authors' code. Deviation: the classifier is
    that of `shotsK:TASK`, on vectors of length 1.
    """

    shots: int
    task: Task
    rate: float = RATE
    steps: int = 0
    options: str = ""  # as typed

    @classmethod
    def of(cls, shots: int, options: str, task: Task) -> Self:
        """Return the task with options such as (rate=1e-3_steps=100). Raises: BadSpec."""
        match = OPTIONS.fullmatch(options) if options else OPTIONS.fullmatch("()")
        if match is None or (options and not any(match.groups())) or not 0 < float(match[1] or RATE) <= 1:
            raise BadSpec(
                f"setfit{shots}{options}: write options such as (rate=1e-3), (steps=100) or (rate=1e-3_steps=100)"
            )
        return cls(shots, task, float(match[1] or RATE), int(match[2] or 0), options)

    @property
    def name(self) -> str:
        return f"setfit{self.shots}{self.options}:{self.task.name}"

    @property
    def version(self) -> int:
        return self.task.version

    @property
    def protocol(self) -> str:
        """Return, for example, setfit(shots=8 draws=5 rate=2e-05)@1."""
        steps = f" steps={self.steps}" if self.steps else ""
        return f"setfit(shots={self.shots} draws={SETFIT_DRAWS} rate={self.rate:g}{steps})@1"

    def load(self, data_dir: Path | None) -> FineTuned:
        """Return the data with their draws. Raises: BadData for a task without classes, or with pairs of sentences."""
        data = drawn(self.name, self.task.load(data_dir), self.shots, SETFIT_DRAWS)
        if len(data.texts[0]) > 1:
            raise BadData(
                f"{self.name}: SetFit reads single sentences, and this task has pairs; take shots{self.shots}"
            )
        return FineTuned(data.texts, data.labels, data.draws, data.test, self.rate, self.steps)
