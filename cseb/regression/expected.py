"""Fresh records against the ones that a benchmark is expected to give: by our code, and by drift."""

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
    """What is expected. Raises: BadResults where nothing is."""
    records = expected.load()[0] if expected.exists() else []
    if not records:
        raise BadResults(f"nothing is expected in {expected.folder}; make it with: cseb check {benchmark} --update")
    return records


def against_expected(
    tolerance: float | None, fresh: Store, records: Sequence[Record], expected: Store, name: str
) -> list[CheckResult]:
    """Whether every bit came back, and whether averages stay within their limits.

    tolerance: of the benchmark's file, in points; name: of the benchmark as typed. Raises: BadBenchmark, BadResults.
    """
    reference, wanted = references.read(expected.folder), expected_records(expected, name)
    checks = drift.compare(records, wanted, *_limits(tolerance, reference.repeatability, wanted, name))
    return [*_by_code(fresh, records, wanted, reference), *(check.result for check in checks)]


def update(fresh: Store, records: Sequence[Record], expected: Store) -> tuple[int, int, str]:
    """Make fresh records what is expected.

    Returns how many were written and how many removed, and what differs from the machine that repeatability was
    measured on, "" for nothing. Raises: BadResults.
    """
    if expected.folder.resolve() == fresh.folder.resolve():
        raise BadResults(f"{expected.folder} cannot be updated from itself")
    expected.folder.parent.mkdir(parents=True, exist_ok=True)
    written, removed = drift.update(records, expected.folder)
    old, conditions = references.read(expected.folder), references.conditions(records)
    kept = {
        name: digest for name, digest in old.items.items() if name.partition("/")[0] in expected.keys() - {*written}
    }
    new = {name: each for key in written for name, each in references.digests(key, fresh.read_items(key)).items()}
    references.write(expected.folder, old.model_copy(update={"conditions": conditions, "items": kept | new}))
    why = references.condition_difference(conditions, old.repeatability.conditions) if old.repeatability else ""
    return len(written), len(removed), why


def _by_code(
    fresh: Store, records: Sequence[Record], wanted: Sequence[Record], reference: Reference
) -> list[CheckResult]:
    here = references.conditions(records)
    if not reference.conditions:
        why = "it is not known on what the expected records were made; --update writes it down"
    elif not (why := references.condition_difference(here, reference.conditions)):
        digests: dict[str, str] = {}
        for one in records:
            digests |= references.digests(one.key, fresh.read_items(one.key)) if one.status == "done" else {}
        return unchanged(records, wanted, digests, reference.items)
    return [CheckResult(question="code", cell="all", ok=None, text=f"other bits are to be expected: {why}")]


def _limits(
    tolerance: float | None, measured: Repeatability | None, wanted: Sequence[Record], name: str
) -> tuple[float, Mapping[str, float]]:
    """The tolerance of the benchmark's file, and what was measured for single methods, which wins.

    Where repeats moved by more than the floor, predictions turn, and no limit is below what one of them moves.
    """
    cells = sum(len({score.select for score in one.scores}) for one in wanted)
    names = {one.method for one in wanted}
    least = max((references.one_prediction(one) for one in wanted), default=0.0)
    limits = {one: limit for one in names if measured and (limit := measured.limit(one, cells)) is not None}
    limits = {one: max(limit, least) if limit > references.FLOOR else limit for one, limit in limits.items()}
    if tolerance is None and (missing := sorted(names - set(limits))):
        raise BadBenchmark(
            f"the benchmark {name} has no limit for {missing[0]}; add a tolerance in points to its file, such as "
            "tolerance: 0.5, or measure the limits with python -m benchmarks.calibrate, in the repository"
        )
    return tolerance or 0.0, limits
