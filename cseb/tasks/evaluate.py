"""Score one encoder on many tasks, encoding every distinct sentence once."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from cseb.errors import BadData, CsebError
from cseb.progress import counted
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Embed, Items, Loaded, Outcome, Task, Tune, Vectors, calls_encoder


@cache
def load_task(task: Task | str, data_dir: Path | None) -> Loaded:
    """Return the data of a task, read once per process. Raises: BadData, UnknownName.

    task: the task, or its name as a user types it; names in records do not locate the files of users.
    """
    return (parse_tasks(task)[0] if isinstance(task, str) else task).load(data_dir)


@cache
def data_sha256(tasks: tuple[Task | str, ...], data_dir: Path | None) -> str:
    """Return the hash of the data of these tasks, in order, as records have it. Raises: BadData, UnknownName."""
    return hashlib.sha256("".join(load_task(task, data_dir).sha256() for task in tasks).encode()).hexdigest()


def score_all(
    tasks: Sequence[tuple[Task, Loaded]], embed: Embed, tune: Tune | None = None
) -> list[tuple[Outcome, Items]]:
    """Return outcome and items of each task, in order; `embed` is called once, with all distinct sentences, sorted.

    tune: fine-tunes a copy of the encoder; None if it cannot be trained. Raises: CsebError.
    """
    results = []
    for result in score_each(tasks, embed, tune=tune):
        if isinstance(result, CsebError):
            raise result
        results.append(result)
    return results


def score_each(
    tasks: Sequence[tuple[Task, Loaded]], embed: Embed, *, alone: bool = True, tune: Tune | None = None
) -> list[tuple[Outcome, Items] | CsebError]:
    """Return the results of `score_all`, with the error in place of the result where a task fails.

    alone: whether the vector of a sentence depends on that sentence only. If not, `embed` is called once for each
    protocol, so that tasks of other protocols do not change the vectors. Raises: CsebError if `embed` does not return
    one vector for each sentence.
    """
    if alone:
        return _score_together(tasks, Checked(embed, tune=tune))
    results: dict[str, tuple[Outcome, Items] | CsebError] = {}
    for protocol in dict.fromkeys(task.protocol for task, _ in tasks):
        group = [(task, loaded) for task, loaded in tasks if task.protocol == protocol]
        scored = _score_together(group, Checked(embed, alone))
        results |= {task.name: result for (task, _), result in zip(group, scored, strict=True)}
    return [results[task.name] for task, _ in tasks]


def _score_together(tasks: Sequence[tuple[Task, Loaded]], embed: Embed) -> list[tuple[Outcome, Items] | CsebError]:
    distinct = sorted({sentence for _, loaded in tasks for sentence in loaded.sentences()})
    vectors = embed(distinct) if distinct else np.zeros((0, 1), dtype=np.float32)
    rows = {sentence: row for row, sentence in enumerate(distinct)}
    return [
        _score(task, loaded, embed if calls_encoder(loaded) else _lookup(task.name, vectors, rows))
        for task, loaded in counted(tasks, "scoring tasks", len(tasks))
    ]


def _score(task: Task, loaded: Loaded, embed: Embed) -> tuple[Outcome, Items] | CsebError:
    try:
        items = loaded.items(embed)
        return loaded.outcome(items), items
    except CsebError as error:
        return error


def _lookup(task: str, vectors: Vectors, rows: dict[str, int]) -> Embed:
    """Return an `Embed` that returns vectors already computed."""

    def embed(sentences: Sequence[str]) -> Vectors:
        try:
            return vectors[[rows[sentence] for sentence in sentences]]
        except KeyError as error:
            raise BadData(f"task {task} asks for {error}, which is missing from its sentences()") from None

    return embed


class Checked:
    """An `Embed` whose output is checked: one row per sentence, all of the same width. Raises: CsebError for any other.

    Values that are not finite are allowed; tasks then have no score. `not_finite` is the first sentence with such a
    value. alone: as in `score_each`; if false, the width may differ between calls. tune: for tasks that fine-tune it.
    """

    def __init__(self, embed: Embed, alone: bool = True, tune: Tune | None = None) -> None:
        self.embed, self.alone, self.tune = embed, alone, tune
        self.width: int | None = None
        self.not_finite: str | None = None

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        """Return (N, D), float32, for N sentences."""
        vectors, count = self.embed(sentences), len(sentences)
        if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
            shape = getattr(vectors, "shape", type(vectors).__name__)
            raise CsebError(f"the encoder returned {shape} for a batch of {count}; ({count}, width) is needed")
        if not np.issubdtype(vectors.dtype, np.floating):
            raise CsebError(f"the encoder returned vectors of {vectors.dtype}; floating-point numbers are needed")
        if count and self.alone and self.width not in (None, vectors.shape[1]):
            raise CsebError(f"the encoder returned vectors of width {self.width} and then of {vectors.shape[1]}")
        if count:
            self.width = vectors.shape[1]
        if self.not_finite is None and len(bad := np.flatnonzero(~np.isfinite(vectors).all(axis=1))):
            self.not_finite = sentences[bad[0]]
        return vectors.astype(np.float32, copy=False)
