"""Rows of a board: one method on one encoder, training set size and group of tasks, with its mean and rank."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from cseb.analysis.comparable import groups, is_untrained, tag
from cseb.analysis.stats import Cell, cell
from cseb.analysis.study import Study, gather
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.registry import TASK_GROUPS
from cseb.statistics.multiple import rank_intervals
from cseb.statistics.paired import STILL
from cseb.text import plain, quantity

UNTRAINED = "untrained"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """The scores of a method over seeds.

    encoder, corpus: name and hash; `corpus` is "" for an untrained encoder. tasks: name of the group that is averaged.
    size: training sentences; 0 for an untrained encoder. cell: mean, deviation, and score and key of each seed. rank:
    lowest and highest rank among the `of` methods of the same folder, encoder, corpus, tasks and size; None without a
    score or another method.
    """

    folder: str
    encoder: str
    corpus: str
    tasks: str
    protocol: str
    method: str
    size: int
    cell: Cell
    rank: tuple[int, int] | None
    of: int

    @property
    def varies(self) -> bool:
        """Return whether the score depends on the seed; that of an untrained encoder does not."""
        return self.cell.sd is not None and self.cell.sd > STILL

    @property
    def place(self) -> dict[str, str | int]:
        """Return the filters of a board that leave the methods this one is ranked with."""
        return {"folder": self.folder, "encoder": self.encoder, "tasks": self.tasks, "size": self.size}


def board(records: Iterable[Record], folder: str) -> tuple[list[Row], list[str]]:
    """Return the rows of a results folder, the best first in each block, and what is left out or mixed."""
    rows: list[Row] = []
    notes: list[str] = []
    for alike in _same_tasks(records):
        try:
            study = gather(alike, encoders=is_untrained(alike[0]), mixed=True)
        except BadResults as error:
            notes.append(f"{folder}: {error}")
            continue
        place = f"{folder}, {tag(alike[0].encoder)}"
        notes += [f"{place}: records differ in {plain(text)}" for text in study.mixed]
        if study.stale:
            notes.append(f"{place}: {quantity(len(study.stale), 'stale record')} left out")
        rows += _rows(study, folder)
    return rows, notes


def _same_tasks(records: Iterable[Record]) -> Iterator[list[Record]]:
    for group in groups(records):
        alike: dict[tuple[str, ...], list[Record]] = {}
        for record in group:
            alike.setdefault(record.protocol.tasks, []).append(record)
        yield from alike.values()


def _rows(study: Study, folder: str) -> Iterator[Row]:
    by_protocol: dict[str, list[str]] = {}
    for task, protocol in study.tasks.items():
        by_protocol.setdefault(protocol, []).append(task)
    for protocol, tasks in by_protocol.items():
        for size in study.sizes:
            runs = {name: study.runs[name, size] for name in study.methods if (name, size) in study.runs}
            cells = {
                name: cell(by_seed, sorted(by_seed), tasks, "last" if study.untrained else "best")
                for name, by_seed in runs.items()
            }
            ranks = _ranks(cells)
            for name in sorted(cells, key=lambda name: -_mean(cells[name])):
                record = next(iter(runs[name].values()))
                yield Row(
                    folder=folder,
                    encoder=tag(record.encoder),
                    corpus=study.corpus,
                    tasks=task_group(tasks),
                    protocol=protocol,
                    method=plain(f"{record.method} ({UNTRAINED})" if study.untrained else name),
                    size=size,
                    cell=cells[name],
                    rank=ranks.get(name),
                    of=len(ranks),
                )


def task_group(tasks: Iterable[str]) -> str:
    """Return the name of a group of tasks, or the names of the tasks without their versions."""
    names = [task.rpartition("@")[0] for task in tasks]
    known = [group for group, members in TASK_GROUPS.items() if set(members) == set(names)]
    return plain(known[0] if known else ", ".join(names))


def _mean(of: Cell) -> float:
    return float("-inf") if of.mean is None else of.mean


def _ranks(cells: Mapping[str, Cell]) -> dict[str, tuple[int, int]]:
    scored = [name for name, of in cells.items() if of.mean is not None]
    if len(scored) < 2:
        return {}
    seeds = sorted({seed for name in scored for seed in cells[name].values})
    scores = np.array([[cells[name].values.get(seed, np.nan) for seed in seeds] for name in scored])
    return {name: (int(low), int(high)) for name, (low, high) in zip(scored, rank_intervals(scores), strict=True)}
