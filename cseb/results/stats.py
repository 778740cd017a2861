"""What several seeds say together: means and spreads, and how many seeds they rest on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from cseb.results.record import Record, Select

Absent = Literal["failed", "collapsed", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One method at one size, over the seeds that were planned.

    mean: points, None when no seed contributes. sd: sample standard deviation (ddof = 1), None below two seeds.
    values: seed to points. absent: seed to the reason why it contributes nothing.
    """

    mean: float | None
    sd: float | None
    values: Mapping[int, float]
    absent: Mapping[int, Absent]

    @property
    def n(self) -> int:
        """Seeds that contribute."""
        return len(self.values)

    @property
    def failed(self) -> int:
        """Seeds whose job ended without scores."""
        return self._count("failed")

    @property
    def collapsed(self) -> int:
        """Seeds whose encoder gives all sentences the same vector, or no finite one."""
        return self._count("collapsed")

    @property
    def missing(self) -> int:
        """Seeds without a record, or with a record that lacks a task."""
        return self._count("missing")

    def _count(self, reason: Absent) -> int:
        return list(self.absent.values()).count(reason)


def cell(runs: Mapping[int, Record], seeds: Sequence[int], tasks: Sequence[str], select: Select) -> Cell:
    """The cell of one method at one size. runs: seed to record; seeds: those planned; tasks: those averaged."""
    scores = {seed: score(runs.get(seed), tasks, select) for seed in seeds}
    values = {seed: value for seed, value in scores.items() if not isinstance(value, str)}
    points = np.array(list(values.values()), dtype=np.float64)
    return Cell(
        mean=float(points.mean()) if len(points) else None,
        sd=float(points.std(ddof=1)) if len(points) > 1 else None,
        values=values,
        absent={seed: value for seed, value in scores.items() if isinstance(value, str)},
    )


def score(record: Record | None, tasks: Sequence[str], select: Select) -> float | Absent:
    """Points of one run, averaged over `tasks`, or why there are none: an average never leaves a task out."""
    if record is None:
        return "missing"
    if record.status == "failed":
        return "failed"
    found = {one.task: one.value for one in record.scores if one.select == select}
    values = [found[task] for task in tasks if task in found]
    points = [value for value in values if value is not None]
    if len(points) < len(values):
        return "collapsed"
    if len(points) < len(tasks) or not tasks:
        return "missing"
    return float(np.mean(points))
