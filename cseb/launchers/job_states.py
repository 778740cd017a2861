"""The state of every job of a folder of results, read from its files alone, on any host."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean

from cseb.experiment.planned_jobs import Planned, read_plan
from cseb.launchers.claims import Claim
from cseb.launchers.error_files import reasons
from cseb.records.record import Record
from cseb.records.store import Store


@dataclass(slots=True)
class JobStates:
    """The jobs of a folder at the last update; each record is read once.

    broken: reasons why jobs ended without a record, by key.
    """

    store: Store
    records: dict[str, Record] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def update(self) -> None:
        """Read new records and the error files of jobs without one. Raises: BadResults."""
        keys = self.store.keys()
        self.records = {key: record for key, record in self.records.items() if key in keys}
        for key in sorted(keys - set(self.records)):
            if (record := self.store.find(key)) is not None:
                self.records[key] = record
        self.broken = {key: why for key, why in reasons(self.store.folder).items() if key not in self.records}

    def planned(self) -> dict[str, Planned]:
        """Return every job of the grids in this folder by key: those planned, and those with a record."""
        jobs: dict[str, Planned] = {}
        for path in sorted(self.store.folder.glob("plan-*.tsv")):
            jobs |= read_plan(path)
        for key, record in self.records.items():
            if record.benchmark != "eval":
                jobs.setdefault(key, Planned(record.method, record.subset.fraction, record.seed))
        return jobs

    def ended(self) -> dict[str, str]:
        """Return `done` or `failed` for every job that has ended, by key."""
        return dict.fromkeys(self.broken, "failed") | {key: record.status for key, record in self.records.items()}

    def finished(self) -> bool:
        """Return whether every planned job has ended, with a record or without."""
        return set(self.planned()) <= set(self.ended())

    def stale(self, invalid: Sequence[Claim]) -> list[Claim]:
        """Return the invalid claims whose job has not ended: its process was killed."""
        ended = self.ended()
        return [claim for claim in invalid if claim.key not in ended]

    def reason(self, key: str) -> str:
        """Return the reason why a job failed."""
        failure = self.records[key].failure if key in self.records else None
        return failure.reason if failure else self.broken.get(key) or "no reason given"

    def seconds(self, jobs: Mapping[str, Planned]) -> dict[str, float | None]:
        """Return the expected seconds of each job: the mean of its method so far, None before one has ended."""
        seconds: dict[str, list[float]] = {}
        for record in self.records.values():
            if record.status == "done":
                seconds.setdefault(record.method, []).append(record.cost.seconds)
        return {key: fmean(seconds[job.label]) if job.label in seconds else None for key, job in jobs.items()}
