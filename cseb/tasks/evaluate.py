"""Scoring one encoder on many tasks, with every distinct sentence encoded once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from cseb.errors import BadData, CsebError
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Embed, Items, Loaded, Outcome, Task, Vectors


@cache
def load_task(task: Task | str, data_dir: Path | None) -> Loaded:
    """The data of a task, read once in the life of a process.

    task: itself, or how a user names it; the name in a record does not say where a file of the user's own lies.
    Raises: BadData, UnknownName.
    """
    return (parse_tasks(task)[0] if isinstance(task, str) else task).load(data_dir)


def score_all(tasks: Sequence[tuple[Task, Loaded]], embed: Embed) -> list[tuple[Outcome, Items]]:
    """Outcome and items of each task, in order; `embed` is called once, with all sentences sorted and distinct.

    Raises: CsebError if `embed` returns anything but one vector for each sentence.
    """
    distinct = sorted({sentence for _, loaded in tasks for sentence in loaded.sentences()})
    vectors = _checked(embed(distinct), len(distinct))
    rows = {sentence: row for row, sentence in enumerate(distinct)}
    found = [loaded.items(_Lookup(task.name, vectors, rows)) for task, loaded in tasks]
    return [(loaded.outcome(items), items) for (_, loaded), items in zip(tasks, found, strict=True)]


class _Lookup:
    """An `Embed` that finds what is already encoded."""

    def __init__(self, task: str, vectors: Vectors, rows: dict[str, int]) -> None:
        self.task, self.vectors, self.rows = task, vectors, rows

    def __call__(self, sentences: Sequence[str]) -> Vectors:
        try:
            return self.vectors[[self.rows[sentence] for sentence in sentences]]
        except KeyError as error:
            raise BadData(f"task {self.task} asks for {error}, which its sentences() leaves out") from None


def _checked(vectors: Vectors, count: int) -> Vectors:
    """Values that are not finite pass: they are the encoder's fault, and each task says so with a None."""
    if not isinstance(vectors, np.ndarray) or vectors.ndim != 2 or len(vectors) != count or vectors.shape[1] == 0:
        found = getattr(vectors, "shape", type(vectors).__name__)
        raise CsebError(f"the encoder returned {found} for {count} sentences; an array of ({count}, width) is needed")
    if not np.issubdtype(vectors.dtype, np.floating):
        raise CsebError(f"the encoder returned vectors of {vectors.dtype}; floating-point numbers are needed")
    return vectors.astype(np.float32, copy=False)
