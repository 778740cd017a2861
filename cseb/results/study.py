"""Which records may stand in one table, and where each of them goes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from cseb.errors import BadResults, did_you_mean
from cseb.results.record import Record, Source
from cseb.results.store import plain, stale

# What a table must not mix: its name, how two records are told apart, and how the difference is shown.
ALIKE: tuple[tuple[str, Callable[[Record], object], Callable[[Record], str]], ...] = (
    ("encoder", lambda one: "" if as_it_stands(one) else one.encoder.sha256, lambda one: tag(one.encoder)),
    ("corpus", lambda one: one.corpus.sha256, lambda one: tag(one.corpus)),
    ("tasks", lambda one: one.protocol.tasks, lambda one: ", ".join(one.protocol.tasks)),
    ("task data", lambda one: one.protocol.data, lambda one: one.protocol.data[:8]),
    ("dev set", lambda one: (one.protocol.dev, one.protocol.dev_pairs), lambda one: one.protocol.dev or "none"),
    ("device", lambda one: one.protocol.device, lambda one: one.protocol.device),
    ("number of threads", lambda one: one.protocol.threads, lambda one: str(one.protocol.threads)),
    ("dtype", lambda one: one.origin.dtype, lambda one: one.origin.dtype),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Study:
    """Comparable records: one encoder, corpus and protocol, one set of options per cell, one record per seed.

    runs: (method as typed, sentences) to seed to record. methods: rows in order. sizes: sentences to share of the
    corpus, rising. seeds: those planned. tasks: task to the protocol of its score, in order. stale: reasons, one for
    each record left out because today's code would give other numbers.
    """

    runs: Mapping[tuple[str, int], Mapping[int, Record]]
    methods: tuple[str, ...]
    sizes: Mapping[int, float]
    seeds: tuple[int, ...]
    tasks: Mapping[str, str]
    stale: tuple[str, ...]

    @property
    def untrained(self) -> bool:
        """Whether these are encoders as they stand, one row each, rather than methods on one encoder."""
        return all(map(as_it_stands, self.records))

    @property
    def records(self) -> list[Record]:
        """All records that count, by method, size and seed."""
        return [
            self.runs[method, size][seed]
            for method in self.methods
            for size in self.sizes
            for seed in sorted(self.runs.get((method, size), ()))
        ]

    def chosen(self, tasks: Sequence[str] = ()) -> tuple[str, ...]:
        """Tasks to average: those asked for, or those that share the first task's protocol. Raises: BadResults."""
        main = next(iter(self.tasks.values()))
        found = tuple(tasks) or tuple(task for task, measure in self.tasks.items() if measure == main)
        for task in found:
            if task not in self.tasks:
                raise BadResults(f"no record has a task called {task!r}; {did_you_mean(task, self.tasks)}")
        if len(measures := sorted({self.tasks[task] for task in found})) > 1:
            raise BadResults(f"{' and '.join(measures)} must not be averaged; ask for the tasks of one of them")
        return found


def gather(records: Iterable[Record], order: Sequence[str] = (), seeds: Sequence[int] = ()) -> Study:
    """Leave stale records out, refuse what cannot be compared, and sort the rest into cells.

    order: methods as typed, the others follow by benchmark and name; seeds: those planned, all that occur by default.
    Raises: BadResults when records differ in what a table must not mix, or when none is left.
    """
    records = [record for record in records if record.vary == "all"]  # others are for results.sources
    reasons = [stale(record) for record in records]
    fresh = [record for record, reason in zip(records, reasons, strict=True) if not reason]
    old = tuple(reason for reason in reasons if reason)
    if not fresh:
        why = f"all {len(old)} are stale ({old[0]}); run the benchmark again" if old else "run a benchmark first"
        raise BadResults(f"no record to show: {why}")
    for what, identity, shown in ALIKE:
        _refuse_mixture(fresh, what, identity, shown)
    runs: dict[tuple[str, int], dict[int, Record]] = {}
    for record in sorted(fresh, key=lambda one: (one.benchmark, one.method)):
        seen = runs.setdefault((row_of(record), record.subset.size), {})
        for other in (seen.get(record.seed), next(iter(seen.values()), None)):
            _refuse_twins(record, other)
        seen[record.seed] = record
    first = {record.subset.size: record.subset.fraction for record in reversed(fresh)}
    return Study(
        runs=runs,
        methods=tuple(dict.fromkeys((*order, *(method for method, _ in runs)))),
        sizes={size: first[size] for size in sorted(first)},
        seeds=tuple(sorted(set(seeds) or {record.seed for record in fresh})),
        tasks=_measures(fresh),
        stale=old,
    )


def groups(records: Iterable[Record]) -> list[list[Record]]:
    """Records by encoder and corpus, in order of their names: each group can be a table of its own.

    Encoders as they stand are put together instead, by all that their table must not mix.
    """
    found: dict[object, list[Record]] = {}
    for record in sorted(records, key=lambda one: (one.encoder.name, one.corpus.name)):
        alike = tuple(identity(record) for _, identity, _ in ALIKE)
        found.setdefault(alike if as_it_stands(record) else alike[:2], []).append(record)
    return list(found.values())


def as_it_stands(record: Record) -> bool:
    """Whether `cseb eval` made it: no sentence was trained on, and the encoder is what the record is about."""
    return record.subset.size == 0


def row_of(record: Record) -> str:
    """The method as typed; of an encoder as it stands which one it is as well, by the end of its name."""
    if not as_it_stands(record):
        return record.method
    return f"{record.encoder.name.rstrip('/').rpartition('/')[2]}@{record.encoder.sha256[:8]}, {record.method}"


def tag(source: Source) -> str:
    """Such as bert-base-uncased@86b5c2d1: a name, and which one exactly."""
    return f"{plain(source.name)}@{source.sha256[:8]}"


def percent(fraction: float) -> str:
    """0.001 as `0.1 %`."""
    return f"{100 * fraction:.3g} %"


def _refuse_mixture(
    records: list[Record], what: str, identity: Callable[[Record], object], shown: Callable[[Record], str]
) -> None:
    kinds = {identity(record): record for record in records}
    if len(kinds) > 1:
        names = " / ".join(sorted(shown(record) for record in kinds.values()))
        raise BadResults(
            f"records differ in {what}: {plain(names)}; a table holds one, so keep the others in a folder of their own"
        )


def _refuse_twins(record: Record, other: Record | None) -> None:
    """Seeds of one cell share all options, and there is one record for each."""
    if other is None or (record.resolved == other.resolved and record.seed != other.seed):
        return
    where = f"{plain(record.method)} on {record.subset.size} sentences"
    if record.resolved == other.resolved:
        raise BadResults(f"{where}, seed {record.seed}, has two records: {other.key}.json and {record.key}.json")
    here, there = (set(re.split(r"[ ,()]+", one.resolved)) for one in (record, other))
    difference = plain(f"{' '.join(sorted(there - here))} / {' '.join(sorted(here - there))}")
    raise BadResults(
        f"{where} was run with different options: {difference} ({other.key}.json, {record.key}.json); "
        "keep one of them in a folder of its own"
    )


def _measures(records: list[Record]) -> dict[str, str]:
    """Task to the protocol of its score; a task that nobody has scored is taken to belong to the first one's."""
    found: dict[str, str] = {}
    for record in records:
        for score in record.scores:
            if found.setdefault(score.task, score.protocol) != score.protocol:
                raise BadResults(
                    f"records differ in how {plain(score.task)} is scored: {plain(found[score.task])} / "
                    f"{plain(score.protocol)}; keep one of them in a folder of its own"
                )
    tasks = records[0].protocol.tasks
    main = next((found[task] for task in tasks if task in found), "")
    return {task: found.get(task, main) for task in tasks}
