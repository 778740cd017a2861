"""`setfitK:TASK`: a copy of the encoder is fine-tuned on K labelled examples of each class before it is scored."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from cseb.data.class_pairs import class_pairs
from cseb.errors import BadData, BadSpec, CsebError
from cseb.progress import tell
from cseb.seeds import VIEWS, stream_seed
from cseb.tasks.task import Embed, Items, Task
from cseb.tasks.transfer.few_labels import FewLabels, drawn

DRAWS = 5
BATCH = 16  # pairs
RATE = 2e-5
OPTIONS = re.compile(r"\((?:rate=([0-9.]+(?:e-?[0-9]+)?))?_?(?:steps=([1-9][0-9]{0,6}))?\)")


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
        return f"setfit(shots={self.shots} draws={DRAWS} rate={self.rate:g}{steps})@1"

    def load(self, data_dir: Path | None) -> FineTuned:
        """Return the data with their draws. Raises: BadData for a task without classes, or with pairs of sentences."""
        data = drawn(self.name, self.task.load(data_dir), self.shots, DRAWS)
        if len(data.texts[0]) > 1:
            raise BadData(
                f"{self.name}: SetFit reads single sentences, and this task has pairs; take shots{self.shots}"
            )
        return FineTuned(data.texts, data.labels, data.draws, data.test, self.rate, self.steps)
