"""Every number of every record, worked out again from the stored items and the task files alone."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isclose
from pathlib import Path

from cseb.errors import CsebError
from cseb.registry import TASKS
from cseb.results.record import Record, Score
from cseb.results.store import Items, Store, plain
from cseb.tasks.evaluate import load_task
from cseb.tasks.task import Loaded

ROUNDING = 1e-6  # points: other versions of numpy and scipy sum in another order


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was worked out again of one record: how many figures, and what is wrong, one line each."""

    key: str
    figures: int
    wrong: tuple[str, ...]


def verify(store: Store, data_dirs: Mapping[str, str]) -> Iterator[Checked]:
    """One result for each record and each file that is none, in the order of their keys.

    data_dirs: where the task files of a benchmark lie, by its name; "" stands for all others. Raises: BadData when task
    files cannot be read.
    """
    records, problems = store.load()
    for problem in problems:
        yield Checked(key=problem.path.name, figures=0, wrong=(problem.reason,))
    for record in records:
        yield _checked(record, store, data_dirs.get(record.benchmark, data_dirs.get("", "")))


def _checked(record: Record, store: Store, data_dir: str) -> Checked:
    if record.status == "failed":
        return Checked(key=record.key, figures=0, wrong=("a failed job has scores",) if record.scores else ())
    try:
        items = store.read_items(record.key)
    except CsebError as error:
        return Checked(key=record.key, figures=0, wrong=(f"items: {error}",))
    wrong, figures = list(_other_data(record, data_dir)), 0
    expected = {f"{one.task}/{one.select}" for one in record.scores}
    wrong += [f"{plain(name)}: items without a score" for name in sorted(items.keys() - expected)]
    wrong += [f"{task}: no score" for task in record.protocol.tasks if task not in {one.task for one in record.scores}]
    for score in record.scores:
        figures += 1 + len(score.detail)
        wrong += _wrong(score, items, data_dir)
    return Checked(key=record.key, figures=figures, wrong=tuple(map(plain, wrong)))


def _wrong(score: Score, items: Mapping[str, Items], data_dir: str) -> Iterator[str]:
    where = f"{score.task} {score.select}"
    held = items.get(f"{score.task}/{score.select}")
    if held is None:
        yield f"{where}: a score without items"
        return
    name, _, version = score.task.rpartition("@")
    if str(TASKS[name].version) != version:
        yield f"{where}: today's task is {name}@{TASKS[name].version}, which may score otherwise"
        return
    if len(held) != score.items:
        yield f"{where}: {len(held)} items, the record says {score.items}"
    try:
        outcome = _loaded(name, data_dir).outcome(held)
    except (ValueError, IndexError, TypeError) as error:  # items of another task, or cut off
        yield f"{where}: its items do not fit its task: {error}"
        return
    if not _same(outcome.value, score.value):
        yield f"{where}: the record says {_shown(score.value)}, its items give {_shown(outcome.value)}"
    for figure in {**outcome.detail, **score.detail}:
        ours, theirs = outcome.detail.get(figure), score.detail.get(figure)
        if not _same(ours, theirs) or (figure in outcome.detail) != (figure in score.detail):
            yield f"{where}, {figure}: the record says {_shown(theirs)}, its items give {_shown(ours)}"


def _other_data(record: Record, data_dir: str) -> Iterator[str]:
    """Task files that are not those the record was scored on."""
    names = [*record.protocol.tasks, *filter(None, [record.protocol.dev])]
    hashes = [_loaded(name.rpartition("@")[0], data_dir).sha256() for name in names]
    if (found := hashlib.sha256("".join(hashes).encode()).hexdigest()) != record.protocol.data:
        yield f"task data: sha256 {found[:8]} here, {record.protocol.data[:8]} in the record"


def _loaded(name: str, data_dir: str) -> Loaded:
    return load_task(name, Path(data_dir) if data_dir else None)


def _same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return isclose(ours, theirs, rel_tol=0, abs_tol=ROUNDING)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"
