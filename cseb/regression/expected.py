"""Compare fresh records with the expected ones of a benchmark: bit by bit, and within tolerances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cseb.errors import BadBenchmark, BadResults
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.regression import drift
from cseb.regression import reference as references
from cseb.regression.bitwise import unchanged
from cseb.regression.check_results import CheckResult
from cseb.regression.reference import Reference, Repeatability


def expected_records(expected: Store, benchmark: str) -> list[Record]:
    """Return the expected records. Raises: BadResults if there are none."""
    records = expected.load()[0] if expected.exists() else []
    if not records:
        raise BadResults(f"nothing is expected in {expected.folder}; make it with: cseb check {benchmark} --update")
    return records


def against_expected(
    tolerance: float | None, fresh: Store, records: Sequence[Record], expected: Store, name: str
) -> list[CheckResult]:
    """Return whether every bit is equal, and whether averages stay within their limits.

    tolerance: of the benchmark's file, in points. name: of the benchmark as typed. Raises: BadBenchmark, BadResults.
    """
    reference, wanted = references.read(expected.folder), expected_records(expected, name)
    checks = drift.compare(records, wanted, *_limits(tolerance, reference.repeatability, wanted, name))
    return [*_by_code(fresh, records, wanted, reference), *(check.result for check in checks)]


def update(fresh: Store, records: Sequence[Record], expected: Store) -> tuple[int, int, str]:
    """Store fresh records as the expected ones.

    Returns:
        How many were written, how many removed, and what differs from the machine on which repeatability was measured.

    Raises:
        BadResults: A record is of a failed job, or the folders are the same.
    """
    if expected.folder.resolve() == fresh.folder.resolve():
        raise BadResults(f"{expected.folder} cannot be updated from itself")
    expected.folder.parent.mkdir(parents=True, exist_ok=True)
    written, removed = drift.update(records, expected.folder)
    old, conditions = references.read(expected.folder), references.conditions(records)
    others = expected.keys() - {*written}
    unwritten = {name: digest for name, digest in old.items.items() if name.partition("/")[0] in others}
    new = {name: digest for key in written for name, digest in references.digests(key, fresh.read_items(key)).items()}
    references.write(expected.folder, old.model_copy(update={"conditions": conditions, "items": unwritten | new}))
    why = references.condition_difference(conditions, old.repeatability.conditions) if old.repeatability else ""
    return len(written), len(removed), why


def _by_code(
    fresh: Store, records: Sequence[Record], wanted: Sequence[Record], reference: Reference
) -> list[CheckResult]:
    conditions = references.conditions(records)
    if not reference.conditions:
        why = "the machine of the expected records is unknown; --update stores it"
    elif not (why := references.condition_difference(conditions, reference.conditions)):
        digests: dict[str, str] = {}
        for record in records:
            if record.status == "done":
                digests |= references.digests(record.key, fresh.read_items(record.key))
        return unchanged(records, wanted, digests, reference.items)
    return [CheckResult(question="code", cell="all", ok=None, text=f"bits may differ: {why}")]


def _limits(
    tolerance: float | None, measured: Repeatability | None, wanted: Sequence[Record], name: str
) -> tuple[float, Mapping[str, float]]:
    """Return the tolerance of the benchmark's file, and the measured ones of single methods, which take precedence.

    If repeats vary by more than FLOOR, predictions change, and no limit is below the effect of one prediction.
    """
    cells = sum(len({score.select for score in record.scores}) for record in wanted)
    names = {record.method for record in wanted}
    least = max((references.one_prediction(record) for record in wanted), default=0.0)
    limits = {method: limit for method in names if measured and (limit := measured.limit(method, cells)) is not None}
    limits = {method: max(limit, least) if limit > references.FLOOR else limit for method, limit in limits.items()}
    if tolerance is None and (missing := sorted(names - set(limits))):
        raise BadBenchmark(
            f"the benchmark {name} has no limit for {missing[0]}; add a tolerance in points to its file, such as "
            "tolerance: 0.5, or measure the limits with python -m benchmarks.calibrate, in the repository"
        )
    return tolerance or 0.0, limits
