"""The state of every job of a folder of results, read from its files alone, on any host."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cseb.experiment.grid import Planned, read_plan
from cseb.launchers.claims import reasons
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.text import plain, quantity


@dataclass(frozen=True, slots=True)
class JobStates:
    """The records of a folder by key, and the reasons why jobs ended without one."""

    store: Store
    records: Mapping[str, Record]
    broken: Mapping[str, str]

    @classmethod
    def of(cls, store: Store) -> JobStates:
        """Read a folder. Raises: BadResults."""
        records = {record.key: record for record in store.load()[0]}
        return cls(store, records, {key: why for key, why in reasons(store.folder).items() if key not in records})

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

    def reason(self, key: str) -> str:
        """Return the reason why a job failed."""
        failure = self.records[key].failure if key in self.records else None
        return failure.reason if failure else self.broken.get(key) or "no reason given"

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
