"""Compare the scores of fresh and expected records, cell by cell, within a tolerance."""

from __future__ import annotations

from collections.abc import Iterable

from cseb.analysis.comparable import tag
from cseb.analysis.stats import score
from cseb.errors import BadResults, between
from cseb.records.record import Record, Select
from cseb.regression.check_results import CheckResult
from cseb.text import percent, plain, quantity

ROUNDING = 1e-9  # points; 56.8 - 56.3 is a little more than 0.5 in binary
Cell = tuple[str, int, int]  # method as typed, sentences, seed


def compare(fresh: Iterable[Record], expected: Iterable[Record], tolerance: float) -> list[CheckResult]:
    """Return a result for each cell and checkpoint on either side; missing, failed and extra ones are not ok.

    Args:
        fresh: The new records.
        expected: The expected records.
        tolerance: Largest difference of an average over tasks, in points.

    Raises:
        BadResults: A side has two records for one cell.
        BadSpec: The tolerance is not a number from 0 to 100.
    """
    between(0, 100, tolerance, "tolerance")
    new, old = by_cell(fresh), by_cell(expected)
    return [
        _result(new.get(cell), old.get(cell), select, tolerance)
        for cell in sorted({*new, *old})
        for select in _selects(new.get(cell), old.get(cell))
    ]


def cell_of(record: Record) -> Cell:
    """Return the properties by which a fresh and an expected record are paired."""
    return record.method, record.subset.size, record.seed


def by_cell(records: Iterable[Record]) -> dict[Cell, Record]:
    """Return the record of each cell. Raises: BadResults for a cell with two records."""
    cells: dict[Cell, Record] = {}
    for record in records:
        if (other := cells.setdefault(cell_of(record), record)) is not record:
            where = f"{plain(record.method)} on {quantity(record.subset.size, 'sentence')}, seed {record.seed}"
            raise BadResults(f"{where} has two records, {other.key}.json and {record.key}.json; remove one")
    return cells


def _selects(*records: Record | None) -> list[Select]:
    """Return the checkpoints that either side has scored; the last one if neither has a score."""
    return sorted({score.select for record in records if record for score in record.scores}) or ["last"]


def _result(new: Record | None, old: Record | None, select: Select, tolerance: float) -> CheckResult:
    record = new or old
    assert record is not None, "a cell has a record"
    found, expected = (score(run, record.protocol.tasks, select) for run in (new, old))
    difference = None if isinstance(found, str) or isinstance(expected, str) else found - expected
    reason = _reason(new, old, found, expected)
    text = ", expected ".join("--" if isinstance(value, str) else f"{value:.2f}" for value in (found, expected))
    text += f", moved by {difference:+.4g}" if difference else ""
    text += f", allowed ±{tolerance:.4g}"
    task, change = _largest_change(new, old, select)
    text += f"; most: {plain(task)} {change:+.4g}" if change else ""
    return CheckResult(
        question="drift",
        cell=f"{plain(record.method)} {percent(record.subset.fraction)} seed {record.seed} {select}",
        ok=not reason and difference is not None and abs(difference) <= tolerance + ROUNDING,
        text=f"{reason}: {text}" if reason else text,
        moved=difference != 0 or change != 0,
    )


def _largest_change(new: Record | None, old: Record | None, select: Select) -> tuple[str, float]:
    """Return the task whose score changed most, and by how many points; ("", 0) if no task is on both sides."""
    points, before = (record.points(select) if record else {} for record in (new, old))
    changes = [
        (task, value - other)
        for task, value in points.items()
        if value is not None and (other := before.get(task)) is not None
    ]
    return max(changes, key=lambda change: abs(change[1]), default=("", 0.0))


def _reason(new: Record | None, old: Record | None, found: float | str, expected: float | str) -> str:
    """Return why two scores cannot be compared, or ""."""
    if new is None or old is None:
        return "no record" if new is None else "not expected"
    if (new.encoder.sha256, new.corpus.sha256) != (old.encoder.sha256, old.corpus.sha256):
        inputs = [f"{tag(record.encoder)} and {tag(record.corpus)}" for record in (new, old)]
        return f"made with {inputs[0]}, expected {inputs[1]}"
    if new.protocol.tasks != old.protocol.tasks:
        return f"tasks are {', '.join(new.protocol.tasks)}, expected {', '.join(old.protocol.tasks)}"
    if isinstance(found, str):
        return f"failed: {plain(new.failure.reason)}" if new.failure else found
    return f"the expectation itself is {expected}" if isinstance(expected, str) else ""
