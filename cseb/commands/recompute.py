"""Recompute every number of every record from the stored items and the task files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from math import isclose
from pathlib import Path

from cseb.errors import CsebError, first_line
from cseb.progress import counted
from cseb.records.items import Items
from cseb.records.record import Record, Score
from cseb.records.store import Store
from cseb.registry import TASKS
from cseb.tasks.evaluate import load_task
from cseb.tasks.task import Loaded
from cseb.text import plain, quantity

Load = Callable[[str], Loaded]
ROUNDING = 1e-6  # points: other versions of numpy and scipy sum in another order


@dataclass(frozen=True, slots=True)
class _Once:
    """Tasks by name and folder, or why they cannot be had: what is not there is asked for once, not by each record."""

    held: dict[tuple[str, str], Loaded | Exception]

    def __call__(self, name: str, data_dir: str) -> Loaded:
        """Raises: whatever the task raises."""
        place = name, data_dir
        if place not in self.held:
            try:
                self.held[place] = load_task(name, Path(data_dir) if data_dir else None)
            except Exception as error:  # a task of another package may raise anything
                self.held[place] = error
        found = self.held[place]
        if isinstance(found, Exception):
            raise found
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """What was worked out again of one record: how many figures, and what is wrong, one line each.

    unknown: why the record, or a part of it, cannot be checked, such as an encoder or task files that are not here.
    left_out: how many scores have items that an archive leaves out on purpose.
    """

    key: str
    figures: int
    wrong: tuple[str, ...]
    unknown: tuple[str, ...] = ()
    left_out: int = 0

    @property
    def good(self) -> bool:
        """Whether all that could be worked out again is as it was, and nothing is lost."""
        return not self.wrong and not self.unknown

    @property
    def untold(self) -> bool:
        """Whether no item says anything: the record is as it was packed, and its scores are taken as they stand."""
        return self.good and not self.figures and self.left_out > 0


def verify(store: Store, data_dirs: Mapping[str, str]) -> Iterator[Checked]:
    """One result for each record and each file that is none, in the order of their keys.

    data_dirs: where the task files of a benchmark lie, by its name; "" stands for all others. A record whose task files
    are not here, or that makes its task fail, is named, and the others are checked all the same.
    """
    load = _Once({})
    records, problems = store.load()
    for problem in problems:
        yield Checked(key=plain(problem.path.name), figures=0, wrong=(problem.reason,))
    for record in counted(records, "checking records", len(records)):
        where = data_dirs.get(record.benchmark, data_dirs.get("", ""))
        yield _checked(record, store, partial(load, data_dir=where))


def _checked(record: Record, store: Store, load: Load) -> Checked:
    if record.status == "failed":
        return Checked(key=record.key, figures=0, wrong=("a failed job has scores",) if record.scores else ())
    try:
        partial = store.is_archived(record.key)
        items = {} if partial and not store.place(record.key)[1] else store.read_items(record.key)
    except CsebError as error:
        return Checked(key=record.key, figures=0, wrong=(f"items: {error}",))
    expected = {f"{one.task}/{one.select}" for one in record.scores}
    wrong = [f"{plain(name)}: items without a score" for name in sorted(items.keys() - expected)]
    wrong += [f"{task}: no score" for task in record.protocol.tasks if task not in {one.task for one in record.scores}]
    absent = [one for one in record.scores if partial and f"{one.task}/{one.select}" not in items]
    figures, unknown = 0, []
    try:
        wrong += _other_data(record, load)
    except Exception as error:  # a task of another package may raise anything; the other records are checked
        unknown.append(_why(error))
    for score in record.scores:
        if score in absent:
            continue
        try:
            wrong += _wrong(score, items, load)
        except Exception as error:
            unknown.append(f"{score.task} {score.select}: {_why(error)}")
        else:
            figures += 1 + len(score.detail)
    return Checked(
        key=record.key,
        figures=figures,
        wrong=tuple(map(plain, wrong)),
        unknown=tuple(dict.fromkeys(map(plain, unknown))),
        left_out=len(absent),
    )


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, CsebError) else f"{type(error).__name__}: {first_line(error)}"


def _wrong(score: Score, items: Mapping[str, Items], load: Load) -> Iterator[str]:
    where = f"{score.task} {score.select}"
    held = items.get(f"{score.task}/{score.select}")
    if held is None:
        yield f"{where}: a score without items"
        return
    name, _, version = score.task.rpartition("@")
    if name in TASKS and str(TASKS[name].version) != version:
        yield f"{where}: today's task is {name}@{TASKS[name].version}, which may score differently"
        return
    if len(held) != score.items:
        yield f"{where}: {quantity(len(held), 'item')}, the record says {score.items}"
    task = load(name)
    try:
        outcome = task.outcome(held)
    except (ValueError, IndexError, TypeError) as error:  # items of another task, or cut off
        yield f"{where}: its items do not fit its task: {error}"
        return
    if not _same(outcome.value, score.value):
        yield f"{where}: the record says {_shown(score.value)}, its items give {_shown(outcome.value)}"
    for figure in {**outcome.detail, **score.detail}:
        ours, theirs = outcome.detail.get(figure), score.detail.get(figure)
        if not _same(ours, theirs) or (figure in outcome.detail) != (figure in score.detail):
            yield f"{where}, {figure}: the record says {_shown(theirs)}, its items give {_shown(ours)}"


def _other_data(record: Record, load: Load) -> Iterator[str]:
    """Task files that are not those the record was scored on."""
    names = [*record.protocol.tasks, *filter(None, [record.protocol.dev])]
    hashes = [load(name.rpartition("@")[0]).sha256() for name in names]
    if (found := hashlib.sha256("".join(hashes).encode()).hexdigest()) != record.protocol.data:
        yield f"task data: sha256 {found[:8]} here, {record.protocol.data[:8]} in the record"


def _same(ours: float | None, theirs: float | None) -> bool:
    if ours is None or theirs is None:
        return ours is theirs
    return isclose(ours, theirs, rel_tol=0, abs_tol=ROUNDING)


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"
