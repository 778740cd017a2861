"""What has become of every job of a folder of results, from its files alone: on any host, whoever runs them."""

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
    """The jobs of a folder as they were at the last look; a record is read once, however often one looks.

    broken: why jobs ended without a record, by key.
    """

    store: Store
    records: dict[str, Record] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def look(self) -> None:
        """Read the records that are new, and what is said of jobs without one. Raises: BadResults."""
        keys = self.store.keys()
        self.records = {key: record for key, record in self.records.items() if key in keys}
        for key in sorted(keys - set(self.records)):
            if (record := self.store.find(key)) is not None:
                self.records[key] = record
        self.broken = {key: why for key, why in reasons(self.store.folder).items() if key not in self.records}

    def planned(self) -> dict[str, Planned]:
        """Every job of the grids that were run into this folder, by key: what was planned, and what has a record."""
        found: dict[str, Planned] = {}
        for path in sorted(self.store.folder.glob("plan-*.tsv")):
            found |= read_plan(path)
        for key, one in self.records.items():
            if one.benchmark != "eval":
                found.setdefault(key, Planned(one.method, one.subset.fraction, one.seed))
        return found

    def ended(self) -> dict[str, str]:
        """`done` or `failed` for every job that has ended, by key."""
        return dict.fromkeys(self.broken, "failed") | {key: one.status for key, one in self.records.items()}

    def finished(self) -> bool:
        """Whether every planned job has ended, with a record or without."""
        return set(self.planned()) <= set(self.ended())

    def stale(self, invalid: Sequence[Claim]) -> list[Claim]:
        """Return the invalid claims whose job has not ended: its process was killed."""
        ended = self.ended()
        return [claim for claim in invalid if claim.key not in ended]

    def why(self, key: str) -> str:
        """The reason why a job failed."""
        failure = self.records[key].failure if key in self.records else None
        return failure.reason if failure else self.broken.get(key) or "no reason given"

    def seconds(self, jobs: Mapping[str, Planned]) -> dict[str, float | None]:
        """What each job is likely to take: the mean of its method so far, None where none has ended."""
        took: dict[str, list[float]] = {}
        for record in self.records.values():
            if record.status == "done":
                took.setdefault(record.method, []).append(record.cost.seconds)
        mean = {method: fmean(seconds) for method, seconds in took.items()}
        return {key: mean.get(job.label) for key, job in jobs.items()}
