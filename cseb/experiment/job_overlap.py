"""Test-set contamination of a job: which tasks have texts among its training sentences."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from cseb.data.overlap import TaskTexts
from cseb.encoder.distributed import distributed_context
from cseb.experiment.job import Job
from cseb.experiment.plan import versioned
from cseb.experiment.train_job import dev_name, loaded_tasks, task_names
from cseb.records.record import Overlap


def overlap_of(job: Job, sentences: Sequence[str]) -> tuple[Overlap, ...] | None:
    """Return the tasks of a job, and its dev set, that overlap with these sentences; None if nothing is trained."""
    if not job.method.data_seen() or not distributed_context().main:
        return None
    names = ",".join(filter(None, (task_names(job), dev_name(job))))
    return tuple(
        Overlap(task=task.task, texts=task.texts, exact=task.exact, near=task.near)
        for task in _task_texts(names, job.data_dir, job.protocol.data).overlap(sentences)
        if task.exact or task.near
    )


@lru_cache(maxsize=1)  # the jobs of a grid share their tasks
def _task_texts(names: str, data_dir: str, sha256: str) -> TaskTexts:
    """sha256: of the data of these tasks; part of the key, as files can change."""
    return TaskTexts.of({versioned(task): loaded.sentences() for task, loaded in loaded_tasks(names, data_dir)})
