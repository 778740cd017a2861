"""Compare the scores of fresh and expected records, cell by cell, within a tolerance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
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
Cell = tuple[str, int, int]  # method as typed, sentences, seed


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftCheck:
    """Found and expected score of one method, size, seed and checkpoint, averaged over the tasks.

    worst: the task that changed most, and by how much. reason: why there is nothing to compare, or "".
    """

    method: str
    fraction: float
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
        scores = ("--" if value is None else f"{value:.2f}" for value in (self.found, self.expected))
        text = ", expected ".join(scores)
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
    """Return a check for each cell and checkpoint on either side; missing, failed and extra ones are not ok.

    Args:
        fresh: The new records.
        expected: The expected records.
        tolerance: Largest difference of an average over tasks, in points.
        limits: The same for single methods, which take precedence.

    Raises:
        BadResults: A side has two records for one cell.
        BadSpec: A tolerance is not a number from 0 to 100.
    """
    for allowed in (tolerance, *limits.values()):
        between(0, 100, allowed, "tolerance")
    new, old = _by_cell(fresh), _by_cell(expected)
    return [
        _check(new.get(cell), old.get(cell), select, limits.get(cell[0], tolerance))
        for cell in sorted({*new, *old})
        for select in _selects(new.get(cell), old.get(cell))
    ]


def update(fresh: Iterable[Record], folder: Path) -> tuple[list[str], list[str]]:
    """Store records as expected ones, in place of others of the same cell; without scores per example.

    Returns:
        The keys written and the keys removed.

    Raises:
        BadResults: A record is of a failed job; then nothing is written.
    """
    records = _by_cell(fresh)
    for record in records.values():
        if record.status == "failed":
            raise BadResults(f"{_named(record)} has failed ({record.key}.json); a failure cannot be expected")
    store = Store(folder)
    store.prepare()
    written = {record.key for record in records.values()}
    outdated = {record.key for record in store.load()[0] if _cell(record) in records} - written
    for record in records.values():
        store.write(record, {})
    for key in outdated:
        store.remove(key)
    return sorted(written), sorted(outdated)


def _cell(record: Record) -> Cell:
    return record.method, record.subset.size, record.seed


def _by_cell(records: Iterable[Record]) -> dict[Cell, Record]:
    by_cell: dict[Cell, Record] = {}
    for record in records:
        if (other := by_cell.setdefault(_cell(record), record)) is not record:
            raise BadResults(f"{_named(record)} has two records, {other.key}.json and {record.key}.json; remove one")
    return by_cell


def _selects(*records: Record | None) -> list[Select]:
    """Return the checkpoints that either side has scored; the last one if neither has a score."""
    return sorted({score.select for record in records if record for score in record.scores}) or ["last"]


def _check(new: Record | None, old: Record | None, select: Select, allowed: float) -> DriftCheck:
    record = new or old
    assert record is not None, "a cell has a record"
    found, expected = (score(run, record.protocol.tasks, select) for run in (new, old))
    check = DriftCheck(
        method=record.method,
        fraction=record.subset.fraction,
        seed=record.seed,
        select=select,
        found=None if isinstance(found, str) else found,
        expected=None if isinstance(expected, str) else expected,
        allowed=allowed,
    )
    if new is None or old is None:
        return replace(check, reason="no record" if new is None else "not expected")
    points, before = new.points(select), old.points(select)
    changes = [
        (task, value - other)
        for task, value in points.items()
        if value is not None and (other := before.get(task)) is not None
    ]
    worst = max(changes, key=lambda change: abs(change[1]), default=None)
    return replace(check, worst=worst, reason=_reason(new, old, found, expected))


def _reason(new: Record, old: Record, found: float | str, expected: float | str) -> str:
    inputs = [f"{tag(record.encoder)} and {tag(record.corpus)}" for record in (new, old)]
    hashes = [(record.encoder.sha256, record.corpus.sha256) for record in (new, old)]
    if hashes[0] != hashes[1]:
        return f"made with {inputs[0]}, expected {inputs[1]}"
    if new.protocol.tasks != old.protocol.tasks:
        return f"tasks are {', '.join(new.protocol.tasks)}, expected {', '.join(old.protocol.tasks)}"
    if isinstance(found, str):
        return f"failed: {plain(new.failure.reason)}" if new.failure else found
    return f"the expectation itself is {expected}" if isinstance(expected, str) else ""


def _named(record: Record) -> str:
    return f"{plain(record.method)} on {quantity(record.subset.size, 'sentence')}, seed {record.seed}"
