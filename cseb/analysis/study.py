"""Comparable records sorted into cells, one record for each seed; and the query that chooses them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isclose
from typing import Literal

from cseb.analysis.comparable import is_untrained, other_versions, refuse_differences, stale
from cseb.errors import BadResults, did_you_mean
from cseb.records.differences import tag
from cseb.records.method_text import part_differences
from cseb.records.record import Record, Select
from cseb.text import plain, quantity


@dataclass(frozen=True, kw_only=True)  # without slots, for the cached property
class Study:
    """Comparable records: one corpus and protocol, one set of options per cell, one record per seed.

    runs: records by (method, sentences) and seed; a method is named as typed, or by its encoder; records of another
    version of a part have a name of their own, such as `tsdae (denoise@1)`. methods: in the order of the table. sizes:
    fraction of the corpus by number of sentences, rising. seeds: those that every method should have. tasks: the
    protocol of each task. stale: the reason for each record left out because the installed code would give other
    numbers. mixed: differences that were allowed on request, one sentence each. encoders: whether rows are encoders.
    older: methods of other versions.
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
        """Return whether these are untrained encoders rather than methods on one encoder."""
        return all(map(is_untrained, self.records))

    @cached_property
    def records(self) -> list[Record]:
        """Return all records that count, by method, size and seed."""
        return [
            self.runs[method, size][seed]
            for method in self.methods
            for size in self.sizes
            for seed in sorted(self.runs.get((method, size), ()))
        ]

    @property
    def encoder(self) -> str:
        """Return the encoder of all rows, "" where rows are encoders."""
        return "" if self.encoders else tag(self.records[0].encoder)

    @property
    def corpus(self) -> str:
        """Return the training corpus, "" for untrained encoders."""
        return "" if self.untrained else tag(self.records[0].corpus)

    def chosen(self, tasks: Sequence[str] = ()) -> tuple[str, ...]:
        """Return the tasks to average: those named, or those of the first task's protocol. Raises: BadResults."""
        main = next(iter(self.tasks.values()))
        chosen = self.named(tasks) or tuple(task for task, protocol in self.tasks.items() if protocol == main)
        if len(protocols := sorted({self.tasks[task] for task in chosen})) > 1:
            raise BadResults(f"{' and '.join(protocols)} must not be averaged; ask for the tasks of one of them")
        return chosen

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
    chosen = list(records)
    known = {record.method for record in chosen}
    for method in methods:
        if method not in known:
            raise BadResults(f"no record is of the method {method!r}; {did_you_mean(method, known)}")
    if methods:
        chosen = [record for record in chosen if record.method in set(methods)]
    for fraction in fractions:
        if not any(_has(record, [fraction]) for record in chosen):
            known_fractions = _listed(record.subset.fraction for record in chosen)
            raise BadResults(f"no record has the fraction {fraction:g}; known: {known_fractions}")
    known_sizes = {record.subset.size for record in chosen}
    if lacking := set(sizes) - known_sizes:
        raise BadResults(f"no record has the size {min(lacking)}; known: {_listed(known_sizes)}")
    if not (fractions or sizes):
        return chosen
    return [record for record in chosen if record.subset.size in sizes or _has(record, fractions)]


def _has(record: Record, fractions: Iterable[float]) -> bool:
    return any(isclose(record.subset.fraction, fraction, rel_tol=1e-3) for fraction in fractions)


def gather(
    records: Iterable[Record],
    order: Sequence[str] = (),
    seeds: Sequence[int] = (),
    *,
    encoders: bool = False,
    mixed: bool = False,
) -> Study:
    """Leave stale records out, refuse what cannot be compared, and sort the rest into cells.

    order: methods as typed; the others follow by benchmark and name. seeds: those planned for several methods.
    encoders: make rows of encoders, not of methods. mixed: allow differences in how and with what versions the records
    were made, and use the latest of several records of one job. Raises: BadResults.
    """
    records = list(records)
    ages = _ages(records)
    fresh = [record for record, (reason, versions) in zip(records, ages, strict=True) if versions or not reason]
    old = tuple(reason for reason, versions in ages if reason and not versions)
    if not fresh:
        why = f"all {len(old)} are stale ({old[0]}); run the benchmark again" if old else "run a benchmark first"
        raise BadResults(f"no record to show: {why}")
    differing = refuse_differences(fresh, encoders=encoders, mixed=mixed)
    names = _encoder_names(fresh) if encoders else {record.key: record.method for record in fresh}
    older = {record.key: versions for record, (_, versions) in zip(records, ages, strict=True) if versions}
    names |= {key: f"{names[key]} ({', '.join(versions)})" for key, versions in older.items()}
    runs: dict[tuple[str, int], dict[int, Record]] = {}
    twins = 0
    for record in sorted(fresh, key=lambda record: (record.benchmark, record.method, record.origin.finished * mixed)):
        cell = runs.setdefault((names[record.key], record.subset.size), {})
        others = (cell.get(record.seed), next(iter(cell.values()), None))
        twins += max([_refuse_twins(record, other, mixed) for other in others])
        cell[record.seed] = record
    first = {record.subset.size: record.subset.fraction for record in reversed(fresh)}
    differences = [f"{name}: {values}" for name, values in differing.items()]
    older_names = tuple(dict.fromkeys(names[record.key] for record in fresh if record.key in older))
    return Study(
        runs=runs,
        methods=_ordered(() if encoders else order, [name for name, _ in runs], older_names),
        sizes={size: first[size] for size in sorted(first)},
        seeds=_common_seeds(runs, seeds),
        tasks=_protocols(fresh),
        stale=old,
        mixed=(*differences, *([f"{quantity(twins, 'older record')} of jobs that have a later one"] if twins else ())),
        encoders=encoders,
        older=older_names,
    )


def _common_seeds(runs: Mapping[tuple[str, int], Mapping[int, Record]], planned: Iterable[int]) -> tuple[int, ...]:
    """Return the seeds that every method should have: those planned, and all but those above every other method's.

    The latter are further seeds of a single method, such as the baseline.
    """
    by_method: dict[str, set[int]] = {}
    for (method, _), by_seed in runs.items():
        by_method.setdefault(method, set()).update(by_seed)
    highest = sorted(max(seeds) for seeds in by_method.values() if seeds)[-2:][0]  # the second highest, or the only one
    return tuple(sorted({*planned, *(seed for seeds in by_method.values() for seed in seeds if seed <= highest)}))


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
    differing = [f"{part.name}: {part.a} / {part.b}" for part in part_differences(other.parts, record.parts)]
    raise BadResults(
        f"{where} was run with different options: {plain('; '.join(differing))} ({other.key}.json, {record.key}.json); "
        "keep one of them in a folder of its own"
    )


def _encoder_names(records: Iterable[Record]) -> dict[str, str]:
    """Return the name of the row of each key: its encoder, with hash or method where needed to distinguish them."""
    encoders = {record.key: (plain(record.encoder.short), record.encoder.sha256) for record in records}
    hashes = Counter(short for short, _ in set(encoders.values()))
    names = {key: f"{short}@{sha256[:4]}" if hashes[short] > 1 else short for key, (short, sha256) in encoders.items()}
    if len({record.method for record in records}) > 1:
        names |= {record.key: f"{names[record.key]} {record.method}" for record in records}
    return names


def _ages(records: Iterable[Record]) -> list[tuple[str, tuple[str, ...]]]:
    """Return `stale` and `other_versions` of each record, computed once for the seeds of a cell."""
    known: dict[object, tuple[str, tuple[str, ...]]] = {}
    ages = []
    for record in records:
        versions = (record.resolved, record.trainer_version, record.encoder_version)
        if (alike := (*versions, record.protocol.tasks, record.protocol.dev, record.subset.size)) not in known:
            reason = stale(record)
            known[alike] = (reason, other_versions(record) if reason else ())
        ages.append(known[alike])
    return ages


def _listed(numbers: Iterable[float]) -> str:
    return ", ".join(f"{number:g}" if isinstance(number, float) else str(number) for number in sorted(set(numbers)))


def _protocols(records: Sequence[Record]) -> dict[str, str]:
    """Return the protocol of each task; a task without any score is assigned the first one's."""
    protocols: dict[str, str] = {}
    for scores in dict.fromkeys(record.measured() for record in records):  # many records share them
        for task, protocol, _ in scores:
            if protocols.setdefault(task, protocol) != protocol:
                raise BadResults(
                    f"records differ in how {plain(task)} is scored: {plain(protocols[task])} / {plain(protocol)}; "
                    "keep one of them in a folder of its own"
                )
    tasks = dict.fromkeys(
        task for tasks in dict.fromkeys(record.protocol.tasks for record in records) for task in tasks
    )
    main = next((protocols[task] for task in tasks if task in protocols), "")
    return {task: protocols.get(task, main) for task in tasks}


Selection = Literal["best", "last", "both"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyQuery:
    """The choice of records, rows and columns of a table. Empty means all, in their natural order.

    encoders: whether rows are encoders. methods, fractions, sizes, tasks: those to show, in this order; tasks of one
    protocol are averaged. order, seeds: those planned; a planned method without a record is shown as missing. mark:
    whether the best methods, for new seeds, are printed in bold.
    """

    select: Selection = "best"
    encoders: bool = False
    methods: tuple[str, ...] = ()
    fractions: tuple[float, ...] = ()
    sizes: tuple[int, ...] = ()
    tasks: tuple[str, ...] = ()
    order: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    mixed: bool = False
    mark: bool = False

    def within(self, records: Sequence[Record]) -> StudyQuery:
        """Return the query without the methods, fractions and sizes that these records of several groups lack."""
        methods = {record.method for record in records}
        sizes = {record.subset.size for record in records}
        return replace(
            self,
            methods=tuple(method for method in self.methods if method in methods),
            sizes=tuple(size for size in self.sizes if size in sizes),
            fractions=tuple(each for each in self.fractions if any(_has(record, [each]) for record in records)),
        )

    def study(self, records: Iterable[Record]) -> Study:
        """Return the chosen records, sorted into cells. Raises: BadResults."""
        chosen = choose(records, self.methods, self.fractions, self.sizes)
        study = gather(chosen, self.methods or self.order, self.seeds, encoders=self.encoders, mixed=self.mixed)
        places = {size: place for place, size in enumerate(self.sizes)} | {
            size: place
            for place, wanted in enumerate(self.fractions)
            for size, fraction in study.sizes.items()
            if abs(fraction - wanted) <= 1e-3 * wanted
        }
        return replace(study, sizes=dict(sorted(study.sizes.items(), key=lambda entry: places.get(entry[0], 0))))

    @property
    def selects(self) -> tuple[Select, ...]:
        """Return the checkpoints to show."""
        return ("best", "last") if self.select == "both" else (self.select,)
