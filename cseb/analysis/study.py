"""Comparable records sorted into cells: methods by numbers of sentences, one record for each seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isclose

from cseb.analysis.comparable import INPUTS, as_it_stands, refuse_differences, tag
from cseb.errors import BadResults, did_you_mean
from cseb.records.method_text import part_differences
from cseb.records.record import Record, Source
from cseb.records.staleness import other_versions, stale
from cseb.text import plain, quantity


@dataclass(frozen=True, kw_only=True)  # without slots, for the cached property
class Study:
    """Comparable records: one corpus and protocol, one set of options per cell, one record per seed.

    runs: (row, sentences) to seed to record; a row is a method as typed, or an encoder; records of another version of a
    part have a row of their own, such as `tsdae (denoise@1)`. methods: rows in order. sizes:
    sentences to part of the corpus, rising. seeds: those planned. tasks: task to the protocol of its score, in order.
    stale: reasons, one for each record left out because today's code would give other numbers. mixed: differences that
    were asked to be ignored, one sentence each. encoders: whether rows are encoders. older: rows of other versions.
    """

    runs: Mapping[tuple[str, int], Mapping[int, Record]]
    methods: tuple[str, ...]
    sizes: Mapping[int, float]
    seeds: tuple[int, ...]
    tasks: Mapping[str, str]
    stale: tuple[str, ...]
    mixed: tuple[str, ...] = ()
    encoders: bool = False
    older: tuple[str, ...] = ()

    @property
    def untrained(self) -> bool:
        """Whether these are encoders as they stand, one row each, rather than methods on one encoder."""
        return all(map(as_it_stands, self.records))

    @cached_property
    def records(self) -> list[Record]:
        """All records that count, by method, size and seed."""
        return [
            self.runs[method, size][seed]
            for method in self.methods
            for size in self.sizes
            for seed in sorted(self.runs.get((method, size), ()))
        ]

    @property
    def encoder(self) -> str:
        """The encoder of all rows, "" where rows are encoders."""
        return "" if self.encoders else tag(self.records[0].encoder)

    @property
    def corpus(self) -> str:
        """The corpus that was trained on, "" where none was."""
        return "" if self.untrained else tag(self.records[0].corpus)

    def chosen(self, tasks: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the tasks to average: those named, or those of the first task's protocol. Raises: BadResults."""
        main = next(iter(self.tasks.values()))
        found = self.named(tasks) or tuple(task for task, measure in self.tasks.items() if measure == main)
        if len(measures := sorted({self.tasks[task] for task in found})) > 1:
            raise BadResults(f"{' and '.join(measures)} must not be averaged; ask for the tasks of one of them")
        return found

    def named(self, tasks: Sequence[str]) -> tuple[str, ...]:
        """Return tasks, typed with or without version, by their names in the records. Raises: BadResults."""
        full = {task.rpartition("@")[0]: task for task in self.tasks} | {task: task for task in self.tasks}
        for task in tasks:
            if task not in full:
                known = {name.rpartition("@")[0] for name in self.tasks}
                raise BadResults(f"no record has a task called {task!r}; {did_you_mean(task, known)}")
        return tuple(dict.fromkeys(full[task] for task in tasks))


def choose(
    records: Iterable[Record],
    methods: Sequence[str] = (),
    fractions: Sequence[float] = (),
    sizes: Sequence[int] = (),
) -> list[Record]:
    """Return the records of these methods and of these fractions or sizes of the corpus; all where none is named.

    Raises: BadResults on one that no record has.
    """
    held = list(records)
    for method in methods:
        if method not in (known := {one.method for one in held}):
            raise BadResults(f"no record is of the method {method!r}; {did_you_mean(method, known)}")
    if methods:
        held = [one for one in held if one.method in set(methods)]
    by_size = {one.subset.size: one.subset.fraction for one in held}
    wanted = set(sizes)
    for fraction in fractions:
        near = {size for size, known in by_size.items() if isclose(known, fraction, rel_tol=1e-3)}
        if not near:
            raise BadResults(f"no record has the fraction {fraction:g}; known: {_listed(by_size.values())}")
        wanted |= near
    if lacking := wanted - set(by_size):
        raise BadResults(f"no record has the size {min(lacking)}; known: {_listed(by_size)}")
    return [one for one in held if one.subset.size in wanted] if wanted else held


def gather(
    records: Iterable[Record],
    order: Sequence[str] = (),
    seeds: Sequence[int] = (),
    *,
    encoders: bool = False,
    mixed: bool = False,
) -> Study:
    """Leave stale records out, refuse what cannot be compared, and sort the rest into cells.

    order: methods as typed, the others follow by benchmark and name; seeds: those planned, all that occur by default;
    encoders: rows are encoders, not methods; mixed: differences in how and with what versions the records were made
    are allowed, and the latest of several records for one job counts. Raises: BadResults when records differ in what a
    table must not mix, or when none is left.
    """
    records = list(records)
    ages = _ages(records)
    fresh = [record for record, (reason, versions) in zip(records, ages, strict=True) if versions or not reason]
    old = tuple(reason for reason, versions in ages if reason and not versions)
    versions_of = {record.key: f" ({', '.join(v)})" for record, (_, v) in zip(records, ages, strict=True) if v}
    if not fresh:
        why = f"all {len(old)} are stale ({old[0]}); run the benchmark again" if old else "run a benchmark first"
        raise BadResults(f"no record to show: {why}")
    differing = refuse_differences(fresh, INPUTS[1:] if encoders else INPUTS, mixed=mixed)
    bare_row = _encoder_rows(fresh) if encoders else _method

    def row(record: Record) -> str:
        return bare_row(record) + versions_of.get(record.key, "")

    runs: dict[tuple[str, int], dict[int, Record]] = {}
    twins = 0
    for record in sorted(fresh, key=lambda one: (one.benchmark, one.method, one.origin.finished if mixed else "")):
        seen = runs.setdefault((row(record), record.subset.size), {})
        others = (seen.get(record.seed), next(iter(seen.values()), None))
        twins += max([_refuse_twins(record, other, mixed) for other in others])
        seen[record.seed] = record
    first = {record.subset.size: record.subset.fraction for record in reversed(fresh)}
    kinds_mixed = [f"{what}: {kinds}" for what, kinds in differing.items()]
    older = tuple(dict.fromkeys(row(record) for record in fresh if record.key in versions_of))
    return Study(
        runs=runs,
        methods=_ordered(() if encoders else order, [name for name, _ in runs], older),
        sizes={size: first[size] for size in sorted(first)},
        seeds=tuple(sorted(set(seeds) or {record.seed for record in fresh})),
        tasks=_measures(fresh),
        stale=old,
        mixed=(*kinds_mixed, *([f"{quantity(twins, 'older record')} of jobs that have a later one"] if twins else ())),
        encoders=encoders,
        older=older,
    )


def _ordered(planned: Sequence[str], rows: Sequence[str], older: Sequence[str]) -> tuple[str, ...]:
    """Return planned rows, then the others; rows of other versions follow their method or replace it."""
    method_of = {name: name.rpartition(" (")[0] for name in older}
    ordered: list[str] = []
    for method in dict.fromkeys((*planned, *(method_of.get(name, name) for name in rows))):
        versions = [name for name in older if method_of[name] == method]
        ordered += versions if versions and method not in rows else [method, *versions]
    return tuple(ordered)


def _refuse_twins(record: Record, other: Record | None, mixed: bool) -> bool:
    """Refuse other options within a cell, and two records of one seed; return True for an allowed second one."""
    if other is None or (record.resolved == other.resolved and record.seed != other.seed):
        return False
    where = f"{plain(record.method)} on {quantity(record.subset.size, 'sentence')}"
    if record.resolved == other.resolved:
        if mixed:
            return True
        raise BadResults(
            f"{where}, seed {record.seed}, has two records: {other.key}.json and {record.key}.json; "
            "remove one, or take the later one with `mixed`"
        )
    differing = [f"{one.name}: {one.a} / {one.b}" for one in part_differences(other.stated(), record.stated())]
    raise BadResults(
        f"{where} was run with different options: {plain('; '.join(differing))} ({other.key}.json, {record.key}.json); "
        "keep one of them in a folder of its own"
    )


def _method(record: Record) -> str:
    return record.method


def _encoder_rows(records: list[Record]) -> Callable[[Record], str]:
    """Return a function that names rows by encoder, with hash or method where needed to distinguish them."""
    names: dict[str, set[str]] = {}
    for record in records:
        names.setdefault(_bare(record.encoder), set()).add(record.encoder.sha256)
    several = len({record.method for record in records}) > 1

    def row(record: Record) -> str:
        name = _bare(record.encoder)
        full = name if len(names[name]) == 1 else f"{name}@{record.encoder.sha256[:4]}"
        return f"{full} {record.method}" if several else full

    return row


def _ages(records: Sequence[Record]) -> list[tuple[str, tuple[str, ...]]]:
    """Return `stale` and `other_versions` of each record, computed once for the seeds of a cell."""
    reasons: dict[object, tuple[str, tuple[str, ...]]] = {}
    answers = []
    for record in records:
        versions = (record.resolved, record.protocol.tasks, record.trainer_version, record.encoder_version)
        if (alike := (*versions, record.subset.size)) not in reasons:
            reason = stale(record)
            reasons[alike] = (reason, other_versions(record) if reason else ())
        answers.append(reasons[alike])
    return answers


def _bare(source: Source) -> str:
    """Return the last part of a path or hub name."""
    return plain(source.name.rstrip("/").rpartition("/")[2])


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{one:g}" if isinstance(one, float) else str(one) for one in sorted(set(numbers)))


def _measures(records: list[Record]) -> dict[str, str]:
    """Return the protocol of each task; a task without any score is assigned the first one's."""
    found: dict[str, str] = {}
    for heads in dict.fromkeys(record.measured() for record in records):  # of a grid, one for all
        for task, protocol, _ in heads:
            if found.setdefault(task, protocol) != protocol:
                raise BadResults(
                    f"records differ in how {plain(task)} is scored: {plain(found[task])} / {plain(protocol)}; "
                    "keep one of them in a folder of its own"
                )
    lists = dict.fromkeys(record.protocol.tasks for record in records)
    tasks = tuple(dict.fromkeys(task for each in lists for task in each))
    main = next((found[task] for task in tasks if task in found), "")
    return {task: found.get(task, main) for task in tasks}
