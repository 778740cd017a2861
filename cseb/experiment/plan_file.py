"""What the benchmarks of a results folder have planned: rows, seeds, and how their tables are laid out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.errors import BadResults

if TYPE_CHECKING:
    from cseb.analysis.query import StudyQuery
    from cseb.experiment.benchmark import Benchmark
    from cseb.records.record import RecordSummary


def plans(results: Path, records: Sequence[RecordSummary], name: str = "") -> list[Benchmark]:
    """The benchmarks of these records as they were run, or the one that was named, as it was run or as it ships.

    Raises: BadBenchmark, UnknownName.
    """
    from cseb.experiment import benchmark as benchmarks

    def path(one: str) -> Path:
        return results / f"benchmark-{one}.yaml"

    if name:
        return [benchmarks.load(str(path(name)) if path(name).is_file() else name, run=False)]
    names = sorted({record.benchmark for record in records})
    return [benchmarks.load(str(path(one)), run=False) for one in names if path(one).is_file()]


def own(records: Sequence[RecordSummary], plan: Benchmark) -> list[RecordSummary]:
    """The records that belong to a benchmark, whichever one they were first made for. Raises: BadResults."""
    from cseb.methods.grammar import labels

    methods = set(labels(plan.methods))
    columns = [*plan.fractions, *plan.sizes]
    found = [
        one
        for one in records
        if one.method in methods
        and any(
            abs((one.subset.fraction if plan.fractions else one.subset.size) - planned) <= 1e-3 * planned
            for planned in columns
        )
    ]
    if not found:
        raise BadResults(f"no record belongs to the benchmark {plan.name}; cseb run {plan.name} makes them")
    return found


def settled(ask: StudyQuery, records: Sequence[RecordSummary], planned: list[Benchmark]) -> StudyQuery:
    """With the rows and seeds that were planned, so that a hole is seen as one, and the checkpoint there is."""
    from cseb.methods.grammar import labels

    order = dict.fromkeys(name for plan in planned for name in labels(plan.methods))
    seeds = {record.seed for record in records}.union(*(range(plan.seeds) for plan in planned))
    select = ask.select or ("best" if any(record.protocol.dev for record in records) else "last")
    return replace(ask, order=tuple(order), seeds=tuple(sorted(seeds)), select=select)


def layout(planned: list[Benchmark]) -> tuple[str, dict[str, str]]:
    """The kind of table that the only benchmark asks for, and what it is about; "" where there are none or several."""
    if len(planned) != 1:
        return "", {}
    kind, _, name = planned[0].table.partition(" ")
    return kind, {"ablation": {"full": name}, "sensitivity": {"option": name}}.get(kind, {})
