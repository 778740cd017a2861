"""The expected records of a benchmark, and the file beside them: their conditions and digests of scores per example."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from cseb.data.bounded import MIB, read_bytes
from cseb.data.files import write_whole, written
from cseb.errors import BadBenchmark, BadData, BadResults
from cseb.processor import processor
from cseb.records.items import Items
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.regression.comparison import CheckResult, by_cell, cell_of, compare, unchanged
from cseb.text import plain

FILE = "reference.json"
Conditions = dict[str, str]  # such as {"cpu": "...", "torch": "2.9.0"}


class Reference(BaseModel):
    """The content of the file. items: digests of scores per example by key and checkpoint, such as "KEY/best"."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    conditions: Conditions = {}
    items: dict[str, str] = {}


def expected_records(expected: Store, benchmark: str) -> list[Record]:
    """Return the expected records. Raises: BadResults if there are none."""
    records = expected.load()[0] if expected.exists() else []
    if not records:
        raise BadResults(f"nothing is expected in {expected.folder}; make it with: cseb check {benchmark} --update")
    return records


def against_expected(
    tolerance: float | None, fresh: Store, records: Sequence[Record], expected: Store, name: str
) -> list[CheckResult]:
    """Return whether every bit is equal, and whether averages stay within the tolerance.

    tolerance: of the benchmark's file, in points. name: of the benchmark as typed. Raises: BadBenchmark, BadResults.
    """
    if tolerance is None:
        raise BadBenchmark(f"the benchmark {name} has no tolerance; add one in points, such as `tolerance: 0.5`")
    reference, wanted = read(expected.folder), expected_records(expected, name)
    return [*_by_code(fresh, records, wanted, reference), *compare(records, wanted, tolerance)]


def update(fresh: Store, records: Sequence[Record], expected: Store) -> tuple[int, int]:
    """Store fresh records as the expected ones, in place of others of the same cell; without scores per example.

    Returns how many were written, and how many removed. Raises: BadResults; then nothing is written.
    """
    cells = by_cell(records)
    for record in records:
        if record.status == "failed":
            raise BadResults(f"{plain(record.method)} has failed ({record.key}.json); a failure cannot be expected")
    expected.folder.parent.mkdir(parents=True, exist_ok=True)
    expected.prepare()
    written = {record.key for record in records}
    removed = {record.key for record in expected.load()[0] if cell_of(record) in cells} - written
    for record in records:
        expected.write(record, {})
    for key in removed:
        expected.remove(key)
    others = expected.keys() - written
    items = {name: value for name, value in read(expected.folder).items.items() if name.partition("/")[0] in others}
    for key in written:
        items |= digests(key, fresh.read_items(key))
    write(expected.folder, Reference(conditions=conditions(records), items=items))
    return len(written), len(removed)


def read(folder: Path) -> Reference:
    """Return the reference of a folder of expected records; an empty one if it has none. Raises: BadResults."""
    path = folder / FILE
    try:
        return Reference.model_validate_json(read_bytes(path, 64 * MIB)) if path.exists() else Reference()
    except (OSError, BadData) as error:
        raise BadResults(str(error)) from None
    except ValidationError as error:
        raise BadResults(f"{path} is no reference: {error.errors()[0]['msg']}; make it again with --update") from None


def write(folder: Path, reference: Reference) -> None:
    """Store a reference beside the records. Raises: BadResults."""
    with written(folder / FILE):
        write_whole(folder / FILE, [reference.model_dump_json(indent=1).encode() + b"\n"])


def conditions(records: Iterable[Record]) -> Conditions:
    """Return what changes the rounding of sums: processor, device, threads, number format, libraries."""
    origins = {(run.origin.machine, run.origin.device, run.origin.dtype, run.protocol.threads) for run in records}
    machine, device, dtype, threads = (
        "/".join(sorted({str(origin[place]) for origin in origins})) for place in range(4)
    )
    versions = {name: version for record in records for name, version in record.origin.versions.items()}
    names = {"cpu": processor(), "machine": machine, "device": device, "dtype": dtype, "threads": threads}
    linear = "/".join(sorted({record.origin.linear for record in records} - {""}))
    return names | versions | ({"linear": linear} if linear else {})


def condition_difference(ours: Conditions, theirs: Conditions) -> str:
    """Return the conditions in which two runs differ, with both values; "" if there are none."""
    names = [name for name in {**theirs, **ours} if ours.get(name) != theirs.get(name)]
    return ", ".join(f"{name} is {ours.get(name, 'none')} here, {theirs.get(name, 'none')} there" for name in names)


def digests(key: str, items: Mapping[str, Items]) -> dict[str, str]:
    """Return a digest of all scores per example for each checkpoint of a record."""
    digests_by_select = {}
    for select in sorted({name.rpartition("/")[2] for name in items}):
        digest = hashlib.sha256()
        for name in sorted(name for name in items if name.endswith(f"/{select}")):
            values = np.ascontiguousarray(items[name], dtype="<f4")
            digest.update(f"{name} {values.shape}".encode() + values.tobytes())
        digests_by_select[f"{key}/{select}"] = digest.hexdigest()[:32]
    return digests_by_select


def _by_code(
    fresh: Store, records: Sequence[Record], wanted: Sequence[Record], reference: Reference
) -> list[CheckResult]:
    if not reference.conditions:
        why = "the machine of the expected records is unknown; --update stores it"
    elif not (why := condition_difference(conditions(records), reference.conditions)):
        done = (record.key for record in records if record.status == "done")
        items = {name: digest for key in done for name, digest in digests(key, fresh.read_items(key)).items()}
        return unchanged(records, wanted, items, reference.items)
    return [CheckResult(question="code", cell="all", ok=None, text=f"bits may differ: {why}")]
