"""Gains of methods over the untrained encoder or over another method, for each seed and task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cseb.analysis.comparable import as_it_stands
from cseb.analysis.stats import score
from cseb.analysis.study import Study
from cseb.errors import BadResults, did_you_mean
from cseb.records.record import RecordSummary, Select
from cseb.records.staleness import stale
from cseb.text import plain

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Floor:
    """What gains are counted from. record: of a size and a seed, None where there is none; method: "" if untrained."""

    title: str
    record: Callable[[int, int], RecordSummary | None]
    select: Select
    method: str = ""


def floor(records: Iterable[RecordSummary], study: Study, tasks: Sequence[str], select: Select, baseline: str) -> Floor:
    """A method of the study at the same size and seed, or the encoder as `cseb eval` has scored it.

    baseline: a method, a pooler such as cls that `cseb eval` was given, or "" for the only such record there is.
    Raises: BadResults.
    """
    if baseline in study.methods:
        runs = study.runs
        return Floor(plain(baseline), lambda size, seed: runs.get((baseline, size), {}).get(seed), select, baseline)
    encoder = study.records[0].encoder
    found = {
        one.method: one
        for one in records
        if as_it_stands(one) and one.encoder.sha256 == encoder.sha256 and not stale(one) and _scored(one, study, tasks)
    }
    if not found and not baseline:
        raise BadResults(
            "gains need a reference: name a method with --baseline, or score the untrained encoder on these tasks with "
            f"cseb eval {plain(encoder.name)}"
        )
    if baseline and baseline not in found:
        raise BadResults(f"no record is of {baseline!r}; {did_you_mean(baseline, [*study.methods, *found])}")
    if not baseline and len(found) > 1:
        raise BadResults(f"the untrained encoder was scored as {', '.join(found)}; choose one with --baseline")
    [start] = [found[baseline]] if baseline else found.values()
    return Floor(f"the untrained encoder ({plain(start.method)})", lambda size, seed: start, "last")


def gains(study: Study, size: int, tasks: Sequence[str], select: Select, base: Floor) -> dict[str, Floats]:
    """Method to points gained, (S, T) by seed and task, over the seeds that have all of them; others are left out."""
    found: dict[str, Floats] = {}
    for method in study.methods:
        runs: Mapping[int, RecordSummary] = study.runs.get((method, size), {})
        rows = []
        for seed in sorted(runs):
            ours, start = _points(runs[seed], tasks, select), _points(base.record(size, seed), tasks, base.select)
            if ours is not None and start is not None:
                rows.append(ours - start)
        if rows and method != base.method:
            found[method] = np.array(rows)
    return found


def _points(record: RecordSummary | None, tasks: Sequence[str], select: Select) -> Floats | None:
    """Of every task, (T,), or None if one has none."""
    found = [score(record, (task,), select) for task in tasks]
    points = [one for one in found if not isinstance(one, str)]
    return np.array(points) if len(points) == len(tasks) else None


def _scored(record: RecordSummary, study: Study, tasks: Sequence[str]) -> bool:
    """Whether a record has points of all these tasks, by the same protocol."""
    held = {one.task: one.protocol for one in record.scores if one.value is not None}
    return all(held.get(task) == study.tasks[task] for task in tasks)
