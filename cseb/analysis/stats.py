"""Mean, spread and number of seeds of a cell of a table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from cseb.analysis.comparable import stale
from cseb.records.record import Record, Select

Absent = Literal["failed", "collapsed", "missing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One method at one size over the planned seeds, or its difference to another cell, seed by seed.

    mean: score, None when no seed contributes. sd: sample standard deviation (ddof = 1), None below two seeds. values:
    score by seed. absent: the reason why a seed contributes nothing. keys: the key of the record of each seed. further:
    number of seeds that are not planned for all methods. best: whether no other cell is significantly better; None if
    this was not tested.
    """

    mean: float | None
    sd: float | None
    values: Mapping[int, float]
    absent: Mapping[int, Absent]
    keys: Mapping[int, str] = field(default_factory=dict)
    further: int = 0
    best: bool | None = None

    @property
    def n(self) -> int:
        """Return the number of seeds that contribute."""
        return len(self.values)

    @property
    def failed(self) -> int:
        """Return the number of seeds whose job ended without scores."""
        return Counter(self.absent.values())["failed"]

    @property
    def collapsed(self) -> int:
        """Return the number of seeds whose encoder gives all sentences the same vector, or no finite one."""
        return Counter(self.absent.values())["collapsed"]

    @property
    def missing(self) -> int:
        """Return the number of seeds without a record, or with a record that lacks a task."""
        return Counter(self.absent.values())["missing"]

    @property
    def sem(self) -> float | None:
        """Return the standard error of the mean."""
        return None if self.sd is None else self.sd / self.n**0.5

    @property
    def ci95(self) -> float | None:
        """Return half the width of Student's 95 % interval of the mean; a bootstrap over five seeds is too narrow."""
        if self.sem is None:
            return None
        from scipy.special import stdtrit

        return float(stdtrit(self.n - 1, 0.975)) * self.sem

    @property
    def median(self) -> float | None:
        """Return the median over all scored seeds, a collapsed one below every other; None if that has no number."""
        ranked = self._ranked()
        return _finite_mean(ranked[(len(ranked) - 1) // 2 : len(ranked) // 2 + 1])

    @property
    def iqm(self) -> float | None:
        """Return the interquartile mean: without a quarter of the seeds at either end, collapsed ones first."""
        ranked = self._ranked()
        cut = len(ranked) // 4
        return _finite_mean(ranked[cut : len(ranked) - cut])

    def _ranked(self) -> list[float]:
        return [-np.inf] * self.collapsed + sorted(self.values.values())


def cell(runs: Mapping[int, Record], seeds: Sequence[int], tasks: Sequence[str], select: Select) -> Cell:
    """Return the cell of one method at one size. runs: records by seed; seeds: those planned; tasks: to average.

    A method that sees no training data needs no further seed, so that none is missing.
    """
    if runs and not any(record.data_seen for record in runs.values()):
        seeds = [seed for seed in seeds if seed in runs]
    scores = {seed: score(runs.get(seed), tasks, select) for seed in sorted({*seeds, *runs})}
    keys = {seed: record.key for seed, record in sorted(runs.items())}
    return replace(_cell(scores, keys), further=len(set(runs) - set(seeds)))


def difference(cell: Cell, other: Cell) -> Cell:
    """Return the difference of two cells under the same seeds, hence on the same sentences in the same order.

    A seed that is missing in either is absent, for the reason of `cell` first. Further seeds of one are left out.
    """
    scores: dict[int, float | Absent] = {}
    for seed in sorted({*cell.values, *cell.absent} & {*other.values, *other.absent}):
        if seed in cell.values and seed in other.values:
            scores[seed] = cell.values[seed] - other.values[seed]
        else:
            scores[seed] = cell.absent.get(seed) or other.absent.get(seed) or "missing"
    return _cell(scores, cell.keys)


def score(record: Record | None, tasks: Sequence[str], select: Select) -> float | Absent:
    """Return the score of one run, averaged over all of `tasks`, or why there is none."""
    if record is None:
        return "missing"
    if record.status == "failed":
        return "failed"
    by_task = record.points(select)
    values = [by_task[task] for task in tasks if task in by_task]
    points = [value for value in values if value is not None]
    if len(points) < len(values):
        return "collapsed"
    if len(points) < len(tasks) or not tasks:
        return "missing"
    return _average(points)


def _cell(scores: Mapping[int, float | Absent], keys: Mapping[int, str]) -> Cell:
    values = {seed: value for seed, value in scores.items() if not isinstance(value, str)}
    points = np.array(list(values.values()), dtype=np.float64)
    return Cell(
        mean=_average(points) if len(points) else None,
        sd=_deviation(points) if len(points) > 1 else None,
        values=values,
        absent={seed: value for seed, value in scores.items() if isinstance(value, str)},
        keys=keys,
    )


def word_baselines(records: Iterable[Record], tasks: Sequence[str], study: Iterable[Record]) -> dict[str, float]:
    """Return the average of bag-of-words baselines of the installed version that have all tasks, by encoder name.

    study: the runs to compare them with; a baseline scored on other data of a task is left out.
    """
    data = {score.task: score.data for record in study for score in record.scores if score.data}
    baselines = {}
    for record in records:
        average = score(record, tasks, "last") if record.encoder.name.startswith("words:") else "missing"
        alike = all(data.get(score.task, score.data) == score.data for score in record.scores if score.task in tasks)
        if alike and not isinstance(average, str) and not stale(record):
            baselines[record.encoder.name] = average
    return baselines


# Equal bits to numpy's own functions, in a tenth of their time for short lists.
def _average(points: Sequence[float] | npt.NDArray[np.float64]) -> float:
    """Return the same as np.mean."""
    return float(np.add.reduce(points) / len(points))


def _deviation(points: npt.NDArray[np.float64]) -> float:
    """Return the same as np.std with ddof=1."""
    return float(np.sqrt(np.add.reduce((points - _average(points)) ** 2) / (len(points) - 1)))


def _finite_mean(points: Sequence[float]) -> float | None:
    return float(np.mean(points)) if len(points) and np.isfinite(points).all() else None
