"""Scores per example of records and the data of their tasks, loaded when a comparison needs them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cseb.errors import BadResults, CsebError
from cseb.progress import counted
from cseb.records.items import Items
from cseb.records.record import Protocol as Measured
from cseb.records.record import Record, Select
from cseb.statistics.items import Clusters, average
from cseb.text import plain, quantity

Floats = npt.NDArray[np.float64]


class Data(Protocol):
    """A task with its data in memory, as far as it is needed here (see cseb.tasks.task.Loaded)."""

    def sha256(self) -> str:
        """Of everything the score depends on but the encoder."""

    def influence(self, items: Items) -> Floats:
        """How far each item moves the score, in points, (N,)."""

    def clusters(self) -> npt.NDArray[np.int64]:
        """Which items are clustered: a label for each, (N,)."""


@dataclass(slots=True, eq=False)
class ItemScores:
    """Scores per example and task data of comparable records; both are read once.

    read: returns the scores per example of a key, such as Store.read_items. load: returns the data of a task by its
    name without version. Both raise CsebError for missing data.
    """

    read: Callable[[str], Mapping[str, Items]]
    load: Callable[[str], Data]
    clusters: dict[str, Clusters] = field(default_factory=dict)  # by task@version, of tasks used so far
    _contributions: dict[tuple[str, str, Select], Floats] = field(default_factory=dict)
    _doubts: dict[Measured, str] = field(default_factory=dict)

    def contributions(
        self, runs: Mapping[int, Record], tasks: Sequence[str], select: Select
    ) -> tuple[dict[int, Floats], str]:
        """Return the contributions of clusters of examples to the average of `tasks` by seed; or {} and the reason.

        runs: records by seed, none of them failed or collapsed.
        """
        for protocol in {record.protocol for record in runs.values()}:
            if doubt := self._doubt(protocol):
                return {}, doubt
        contributions = {}
        for seed, record in runs.items():
            try:
                contributions[seed] = average([self._of(record, task, select) for task in tasks])
            except CsebError as error:
                return {}, plain(str(error))
        return contributions, ""

    def _of(self, record: Record, task: str, select: Select) -> Floats:
        place = (record.key, task, select)
        if place not in self._contributions:
            self._read(record, select)
        if place not in self._contributions:
            raise BadResults(f"items/{record.key}.npz does not contain {task}/{select}")
        return self._contributions[place]

    def _read(self, record: Record, select: Select) -> None:
        """Read all tasks of a record at once: they are in one file."""
        scores = self.read(record.key)
        for task in record.protocol.tasks:
            if (name := f"{task}/{select}") not in scores:
                continue
            items, data = scores[name], self.load(_bare(task))
            if task not in self.clusters:
                self.clusters[task] = Clusters.of(data.clusters())
            clusters = self.clusters[task]
            if len(items) != len(clusters.labels):
                raise BadResults(
                    f"{name} of {record.key} has {quantity(len(items), 'item')}, the task {len(clusters.labels)}"
                )
            if not np.isfinite(items).all():
                raise BadResults(f"{name} of {record.key} has items that are not finite, its score is")
            self._contributions[record.key, task, select] = clusters.contributions(
                _influence(data, items, f"{name} of {record.key}")
            )

    def _doubt(self, protocol: Measured) -> str:
        """Return why the task data cannot be used, or "": they must be those of the records."""
        if protocol not in self._doubts:
            named = [*protocol.tasks, *filter(None, [protocol.dev])]
            try:
                loaded = counted(named, "loading task data", len(named))
                digests = "".join(self.load(_bare(name)).sha256() for name in loaded)
                same = hashlib.sha256(digests.encode()).hexdigest() == protocol.data
                self._doubts[protocol] = "" if same else "the task data here are not those of the records"
            except CsebError as error:
                self._doubts[protocol] = plain(str(error))
        return self._doubts[protocol]


def _influence(data: Data, items: Items, whose: str) -> Floats:
    """Return the influence of each example, (N,) and finite. Raises: BadResults for scores of another task."""
    try:
        influence = np.asarray(data.influence(items), dtype=np.float64)
    except (ValueError, IndexError, TypeError) as error:
        raise BadResults(f"{whose} does not fit its task: {error}") from None
    if influence.shape != (len(items),) or not np.isfinite(influence).all():
        raise BadResults(f"{whose} does not fit its task: no finite influence of each item")
    return influence


def _bare(task: str) -> str:
    """Return the name of a task without its version, which `stale` has checked."""
    return task.rpartition("@")[0]
