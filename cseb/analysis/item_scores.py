"""Scores per example of records and the data of their tasks, loaded when a comparison needs them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from cseb.analysis.comparable import unversioned
from cseb.errors import BadResults, CsebError
from cseb.progress import counted
from cseb.records.items import Items
from cseb.records.record import Protocol as ScoringProtocol
from cseb.records.record import Record, Select, data_sha256
from cseb.statistics.items import Clusters, average
from cseb.text import plain, quantity

Floats = npt.NDArray[np.float64]


class Data(Protocol):
    """The part of a task with its data that is used here (see `cseb.tasks.task.Loaded`)."""

    def sha256(self) -> str:
        """Return the hash of everything that the score depends on except the encoder."""

    def influence(self, items: Items) -> Floats:
        """Return the influence of each item on the score, (N,)."""

    def clusters(self) -> npt.NDArray[np.int64]:
        """Return a label for each item, (N,); items with the same label depend on each other."""


@dataclass(slots=True, eq=False)
class ItemScores:
    """Scores per example and task data of comparable records; both are read once.

    read: returns the scores per example of a key, such as Store.read_items. load: returns the data of a task by its
    name without version. Both raise CsebError for missing data. clusters: by task@version, of the tasks used so far.
    """

    read: Callable[[str], Mapping[str, Items]]
    load: Callable[[str], Data]
    clusters: dict[str, Clusters] = field(default_factory=dict)
    _contributions: dict[tuple[str, str, Select], Floats] = field(default_factory=dict)
    _mismatches: dict[ScoringProtocol, str] = field(default_factory=dict)

    def contributions(
        self, runs: Mapping[int, Record], tasks: Sequence[str], select: Select
    ) -> tuple[dict[int, Floats], str]:
        """Return the contributions of clusters of examples to the average of `tasks` by seed; or {} and the reason.

        runs: records by seed, none of them failed or collapsed.
        """
        try:
            for protocol in {record.protocol for record in runs.values()}:
                if mismatch := self._mismatch(protocol):
                    return {}, mismatch
            return {
                seed: average([self._of(record, task, select) for task in tasks]) for seed, record in runs.items()
            }, ""
        except CsebError as error:
            return {}, plain(str(error))

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
        checkpoint = select if record.trace and record.trace.steps else "last"  # an untrained encoder has no other
        for task in record.protocol.tasks:
            if (name := f"{task}/{checkpoint}") not in scores:
                continue
            items, data = scores[name], self.load(unversioned(task))
            if task not in self.clusters:
                self.clusters[task] = Clusters.of(data.clusters())
            clusters = self.clusters[task]
            if len(items) != len(clusters.labels):
                raise BadResults(
                    f"{name} of {record.key} has {quantity(len(items), 'item')}, the task {len(clusters.labels)}"
                )
            if not np.isfinite(items).all():
                raise BadResults(f"{name} of {record.key} has items that are not finite, its score is")
            influence = _influence(data, items, f"{name} of {record.key}")
            self._contributions[record.key, task, select] = clusters.contributions(influence)

    def _mismatch(self, protocol: ScoringProtocol) -> str:
        """Return why the task data cannot be used, or "": they must be those of the records. Raises: CsebError."""
        if protocol not in self._mismatches:
            names = [*protocol.tasks, *filter(None, [protocol.dev])]
            loaded = counted(names, "loading task data", len(names))
            same = data_sha256(self.load(unversioned(name)).sha256() for name in loaded) == protocol.data
            self._mismatches[protocol] = "" if same else "the task data here are not those of the records"
        return self._mismatches[protocol]


def _influence(data: Data, items: Items, name: str) -> Floats:
    """Return the influence of each example, (N,) and finite. Raises: BadResults for scores of another task."""
    try:
        influence = np.asarray(data.influence(items), dtype=np.float64)
    except (ValueError, IndexError, TypeError) as error:
        raise BadResults(f"{name} does not fit its task: {error}") from None
    if influence.shape != (len(items),) or not np.isfinite(influence).all():
        raise BadResults(f"{name} does not fit its task: no finite influence of each item")
    return influence
