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
from cseb.text import plain, quantity


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
                device = record.protocol.device
                jobs.setdefault(key, Planned(record.method, record.subset.fraction, record.seed, device))
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
        """Return the expected seconds of each job: the mean of its method on its device, None if there is none yet."""
        ended: dict[tuple[str, str], list[float]] = {}
        for record in self.records.values():
            if record.status == "done":
                ended.setdefault((record.method, record.protocol.device), []).append(record.cost.seconds)
        seconds = {place: fmean(each) for place, each in ended.items()}
        return {key: seconds.get((job.label, job.device)) for key, job in jobs.items()}

    def devices(self) -> list[str]:
        """Return a line for each device: how many records it has, and the largest memory of a job."""
        records: dict[str, list[Record]] = {}
        for record in self.records.values():
            records.setdefault(plain(f"{record.protocol.device} ({record.origin.device})"), []).append(record)
        lines = []
        for device, each in sorted(records.items()):
            gpu = max((record.cost.peak_gpu_mb or 0.0 for record in each), default=0.0)
            memory = f"{max(record.cost.peak_rss_mb for record in each):,.0f} MB" + (
                f", GPU {gpu:,.0f} MB" if gpu else ""
            )
            lines.append(f"{device}: {quantity(len(each), 'record')}, at most {memory}")
        return lines
