"""Expected run time of jobs, from the records of similar jobs. No torch here."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean

from cseb.experiment.job import Job
from cseb.records.record import Record


def expected_seconds(jobs: Iterable[Job], records: Iterable[Record]) -> dict[str, float | None]:
    """Return the expected seconds of each job by key; None if no similar record exists.

    A record is similar if it has the same method, encoder and device. Its training time is scaled to the number of
    steps of the job.
    """
    similar: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.status == "done":
            similar.setdefault((record.method, record.encoder.sha256, record.protocol.device), []).append(record)
    seconds: dict[str, float | None] = {}
    for job in jobs:
        records_of = similar.get((job.label, job.encoder.sha256, job.protocol.device), [])
        seconds[job.key] = fmean(_scaled(record, job.recipe.steps) for record in records_of) if records_of else None
    return seconds


def _scaled(record: Record, steps: int) -> float:
    trained = record.trace.steps if record.trace else 0
    factor = steps / trained if trained else 1.0
    return record.cost.train_seconds * factor + record.cost.score_seconds


def longest_first(jobs: Sequence[Job], seconds: Mapping[str, float | None], at_once: int) -> list[Job]:
    """Return the jobs in the order to run them: long jobs first, so that no worker idles at the end.

    Seeds stay in order, so that an interrupted grid is a complete grid of fewer seeds. Where `at_once` jobs are half a
    seed or more, this would waste up to half of the time, and seeds are mixed. Jobs of unknown length come first,
    ordered by their number of training examples.
    """
    rounds = len(jobs) / max(1, len({job.seed for job in jobs})) / max(1, at_once)

    def place(job: Job) -> tuple[int, float, int]:
        expected, recipe = seconds.get(job.key), job.recipe
        length = math.inf if expected is None else expected
        return job.seed if rounds > 2 else 0, -length, -recipe.steps * recipe.batch_size

    return sorted(jobs, key=place)


def makespan(seconds: Iterable[float], workers: int) -> float:
    """Return when the last job ends if each job goes to the next free worker, in this order."""
    free = [0.0] * max(1, workers)
    for duration in seconds:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)
