"""Compare the scores of fresh and expected records, cell by cell, within a tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from cseb.analysis.comparable import tag
from cseb.analysis.stats import score
from cseb.errors import BadResults, between
from cseb.records.record import Record, Select
from cseb.records.store import Store
from cseb.regression.check_results import CheckResult
from cseb.text import percent, plain, quantity

ROUNDING = 1e-9  # points; 56.8 - 56.3 is a little more than 0.5 in binary
NONE: Mapping[str, float] = MappingProxyType({})
Place = tuple[str, int, int, str, str]  # method as typed, sentences, seed, sha256 of encoder and of corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftCheck:
    """Found and expected score of one method, size, seed and checkpoint, averaged over the tasks.

    worst: the task that changed most, and by how much. reason: why there is nothing to compare, or "".
    """

    method: str
    fraction: float
    size: int
    seed: int
    select: Select
    found: float | None
    expected: float | None
    allowed: float
    worst: tuple[str, float] | None = None
    reason: str = ""

    @property
    def difference(self) -> float | None:
        """Found minus expected; None if one is missing."""
        return None if self.found is None or self.expected is None else self.found - self.expected

    @property
    def ok(self) -> bool:
        """Whether both scores are there and differ by no more than allowed."""
        return not self.reason and self.difference is not None and abs(self.difference) <= self.allowed + ROUNDING

    @property
    def result(self) -> CheckResult:
        """This check as a result of `cseb check`."""
        text = f"{_points(self.found)}, expected {_points(self.expected)}"
        if self.difference:
            text += f", moved by {self.difference:+.4g}"
        text += f", allowed ±{self.allowed:.4g}"
        if self.worst is not None and self.worst[1]:
            text += f"; most: {plain(self.worst[0])} {self.worst[1]:+.4g}"
        cell = f"{plain(self.method)} {percent(self.fraction)} seed {self.seed} {self.select}"
        moved = self.difference != 0 or bool(self.worst and self.worst[1])
        message = f"{self.reason}: {text}" if self.reason else text
        return CheckResult(question="drift", cell=cell, ok=self.ok, text=message, moved=moved)


def compare(
    fresh: Iterable[Record], expected: Iterable[Record], tolerance: float, limits: Mapping[str, float] = NONE
) -> list[DriftCheck]:
    """Return a check for each cell, seed and checkpoint on either side; missing, failed and extra ones are not ok.

    Args:
        fresh: The new records.
        expected: The expected records.
        tolerance: Largest difference of an average over tasks, in points.
        limits: The same for single methods, which take precedence.

    Raises:
        BadResults: A side has two records for one cell and seed.
        BadSpec: A tolerance is not a number from 0 to 100.
    """
    for allowed in (tolerance, *limits.values()):
        between(0, 100, allowed, "tolerance")
    found, wanted = _by_place(fresh), _by_place(expected)
    checks = []
    for place in sorted({*found, *wanted}):
        new, old = found.get(place), wanted.get(place)
        twin = _twin(place, found if new is None else wanted)
        allowed = limits.get(place[0], tolerance)
        checks += [_check(new, old, twin, select, allowed) for select in _selects(new, old)]
    return checks


def update(fresh: Iterable[Record], folder: Path) -> tuple[list[str], list[str]]:
    """Store records as expected ones, in place of others of the same method, size and seed; without scores per example.

    Returns:
        The keys written and the keys removed.

    Raises:
        BadResults: A record is of a failed job; then nothing is written.
    """
    records = {(record.method, record.subset.size, record.seed): record for record in _by_place(fresh).values()}
    for record in records.values():
        if record.status == "failed":
            raise BadResults(f"{_named(record)} has failed ({record.key}.json); a failure cannot be expected")
    store = Store(folder)
    store.prepare()
    old, _ = store.load()
    written = {record.key for record in records.values()}
    outdated = {record.key for record in old if (record.method, record.subset.size, record.seed) in records} - written
    for record in records.values():
        store.write(record, {})
    for key in outdated:
        store.remove(key)
    return sorted(written), sorted(outdated)


def _by_place(records: Iterable[Record]) -> dict[Place, Record]:
    by_place: dict[Place, Record] = {}
    for record in records:
        place = (record.method, record.subset.size, record.seed, record.encoder.sha256, record.corpus.sha256)
        if (other := by_place.setdefault(place, record)) is not record:
            raise BadResults(f"{_named(record)} has two records, {other.key}.json and {record.key}.json; remove one")
    return by_place


def _twin(place: Place, others: Mapping[Place, Record]) -> Record | None:
    """Return the record of the same method, size and seed on another encoder or corpus."""
    return next((record for other, record in others.items() if other[:3] == place[:3]), None)


def _selects(*records: Record | None) -> list[Select]:
    """Return the checkpoints that either side has scored; the last one if neither has a score."""
    return sorted({score.select for record in records if record for score in record.scores}) or ["last"]


def _check(new: Record | None, old: Record | None, twin: Record | None, select: Select, allowed: float) -> DriftCheck:
    record = new or old
    assert record is not None, "a place comes from a record"
    found, expected = (score(run, record.protocol.tasks, select) for run in (new, old))
    return DriftCheck(
        method=record.method,
        fraction=record.subset.fraction,
        size=record.subset.size,
        seed=record.seed,
        select=select,
        found=None if isinstance(found, str) else found,
        expected=None if isinstance(expected, str) else expected,
        allowed=allowed,
        worst=_worst(new, old, select),
        reason=_reason(new, old, twin, found, expected),
    )


def _reason(
    new: Record | None, old: Record | None, twin: Record | None, found: float | str, expected: float | str
) -> str:
    if new is None or old is None:
        record = new or old
        if twin is not None and record is not None:
            return f"made with {_inputs(record)}, the other side with {_inputs(twin)}"
        return "no record" if new is None else "not expected"
    if new.protocol.tasks != old.protocol.tasks:
        return f"tasks are {', '.join(new.protocol.tasks)}, expected {', '.join(old.protocol.tasks)}"
    if isinstance(found, str):
        return f"failed: {plain(new.failure.reason)}" if new.failure else found
    return f"the expectation itself is {expected}" if isinstance(expected, str) else ""


def _worst(new: Record | None, old: Record | None, select: Select) -> tuple[str, float] | None:
    if new is None or old is None:
        return None
    found, expected = (
        {score.task: score.value for score in record.scores if score.select == select and score.value is not None}
        for record in (new, old)
    )
    changes = [(task, found[task] - expected[task]) for task in found if task in expected]
    return max(changes, key=lambda change: abs(change[1]), default=None)


def _named(record: Record) -> str:
    return f"{plain(record.method)} on {quantity(record.subset.size, 'sentence')}, seed {record.seed}"


def _inputs(record: Record) -> str:
    return f"{tag(record.encoder)} and {tag(record.corpus)}"


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"
