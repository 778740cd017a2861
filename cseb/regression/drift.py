"""Did training drift? Fresh records against expected ones, cell by cell; no number is adjusted."""

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
    """One method, size, seed and checkpoint: what was found, what was expected, in points averaged over the tasks.

    difference: found minus expected. worst: the task that moved most, and by how much. reason: why there is nothing to
    compare, or "".
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
        """Found minus expected, or None when one of them is lacking."""
        return None if self.found is None or self.expected is None else self.found - self.expected

    @property
    def ok(self) -> bool:
        """Whether both are there and no further apart than allowed."""
        return not self.reason and self.difference is not None and abs(self.difference) <= self.allowed + ROUNDING

    @property
    def result(self) -> CheckResult:
        """This check among the results of `cseb check`."""
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
    """One check for each cell, seed and checkpoint on either side; missing, failed and extra ones are not ok.

    tolerance: points that an average over tasks may differ by, in either direction; limits: the same for single methods
    by name, which win. Raises: BadResults when a side has two records for one cell and seed; BadSpec when one of them
    is not a number from 0 to 100.
    """
    for allowed in (tolerance, *limits.values()):
        between(0, 100, allowed, "tolerance")
    found, wanted = _by_place(fresh), _by_place(expected)
    checks = []
    for place in sorted({*found, *wanted}):
        here, there = found.get(place), wanted.get(place)
        twin = _twin(place, found if here is None else wanted)
        allowed = limits.get(place[0], tolerance)
        checks += [_check(here, there, twin, select, allowed) for select in _selects(here, there)]
    return checks


def update(fresh: Iterable[Record], folder: Path) -> tuple[list[str], list[str]]:
    """Make these records what is expected; others of the same method, size and seed go. Scores per item are not kept.

    Returns the keys written and the keys removed. Raises: BadResults, before anything is written, on a failed job.
    """
    records = {(record.method, record.subset.size, record.seed): record for record in _by_place(fresh).values()}
    for record in records.values():
        if record.status == "failed":
            raise BadResults(f"{_named(record)} has failed ({record.key}.json); a failure cannot be expected")
    store = Store(folder)
    store.prepare()
    old, _ = store.load()
    written = {record.key for record in records.values()}
    outdated = {one.key for one in old if (one.method, one.subset.size, one.seed) in records} - written
    for record in records.values():
        store.write(record, {})
    for key in outdated:
        store.remove(key)
    return sorted(written), sorted(outdated)


def _by_place(records: Iterable[Record]) -> dict[Place, Record]:
    found: dict[Place, Record] = {}
    for one in records:
        place = (one.method, one.subset.size, one.seed, one.encoder.sha256, one.corpus.sha256)
        if (other := found.setdefault(place, one)) is not one:
            raise BadResults(f"{_named(one)} has two records, {other.key}.json and {one.key}.json; remove one")
    return found


def _twin(place: Place, others: Mapping[Place, Record]) -> Record | None:
    """The record of the same method, size and seed on another encoder or corpus."""
    return next((one for other, one in others.items() if other[:3] == place[:3]), None)


def _selects(*records: Record | None) -> list[Select]:
    """Checkpoints that either side has scored; the last one when neither has a score at all."""
    return sorted({score.select for record in records if record for score in record.scores}) or ["last"]


def _check(
    here: Record | None, there: Record | None, twin: Record | None, select: Select, allowed: float
) -> DriftCheck:
    some = here or there
    assert some is not None, "a place comes from a record"
    found, expected = (score(one, some.protocol.tasks, select) for one in (here, there))
    return DriftCheck(
        method=some.method,
        fraction=some.subset.fraction,
        size=some.subset.size,
        seed=some.seed,
        select=select,
        found=None if isinstance(found, str) else found,
        expected=None if isinstance(expected, str) else expected,
        allowed=allowed,
        worst=_worst(here, there, select),
        reason=_reason(here, there, twin, found, expected),
    )


def _reason(
    here: Record | None, there: Record | None, twin: Record | None, found: float | str, expected: float | str
) -> str:
    if here is None or there is None:
        some = here or there
        if twin is not None and some is not None:
            return f"made with {_inputs(some)}, the other side with {_inputs(twin)}"
        return "no record" if here is None else "not expected"
    if here.protocol.tasks != there.protocol.tasks:
        return f"tasks are {', '.join(here.protocol.tasks)}, expected {', '.join(there.protocol.tasks)}"
    if isinstance(found, str):
        return f"failed: {plain(here.failure.reason)}" if here.failure else found
    return f"the expectation itself is {expected}" if isinstance(expected, str) else ""


def _worst(here: Record | None, there: Record | None, select: Select) -> tuple[str, float] | None:
    if here is None or there is None:
        return None
    found, expected = (
        {one.task: one.value for one in record.scores if one.select == select and one.value is not None}
        for record in (here, there)
    )
    moved = [(task, found[task] - expected[task]) for task in found if task in expected]
    return max(moved, key=lambda one: abs(one[1]), default=None)


def _named(record: Record) -> str:
    return f"{plain(record.method)} on {quantity(record.subset.size, 'sentence')}, seed {record.seed}"


def _inputs(record: Record) -> str:
    return f"{tag(record.encoder)} and {tag(record.corpus)}"


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.2f}"
