"""Compare two results: what differs between them, and how much of the gap between their scores it explains.

Records contain both checkpoints, other aggregations of each task and the dev scores of every evaluation step, so a
score can be read under another protocol without the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from cseb.analysis.comparable import tag
from cseb.errors import BadResults
from cseb.records.method_text import part_differences
from cseb.records.record import Record, Select
from cseb.text import percent, plain, quantity

FIELDS: dict[str, Callable[[Record], str]] = {
    "method": lambda record: record.method,
    "encoder": lambda record: tag(record.encoder),
    "corpus": lambda record: tag(record.corpus),
    "written by": lambda record: "" if record.generated is None else str(record.generated),
    "external inputs": lambda record: ", ".join(map(tag, record.outside)),
    "sentences": lambda record: f"{record.subset.size:,} ({percent(record.subset.fraction)})",
    "subset": lambda record: record.subset.sha256[:8],
    "seed": lambda record: str(record.seed),
    "data seen": lambda record: ", ".join(record.data_seen) or "none",
    "tasks": lambda record: ", ".join(record.protocol.tasks),
    "task data": lambda record: record.protocol.data[:8],
    "evaluation": lambda record: ", ".join(sorted({score.protocol for score in record.scores})),
    "checkpoint": lambda record: f"best on {record.protocol.dev}" if record.protocol.dev else "last",
    "threads": lambda record: str(record.protocol.threads),
    "processes": lambda record: str(record.protocol.processes),
    "device": lambda record: f"{record.protocol.device}, {record.origin.device}",
    "dtype": lambda record: record.origin.dtype,
    "linear layers": lambda record: record.origin.linear,
    "machine": lambda record: record.origin.machine,
    "cseb": lambda record: f"{record.origin.cseb} {record.origin.commit}".strip(),
    "versions": lambda record: ", ".join(f"{name} {version}" for name, version in record.origin.versions.items()),
}
FIGURES = ("spearman.all", "spearman.mean", "spearman.wmean", "pearson.all")
DEV = "score on the dev set at the best checkpoint"


@dataclass(frozen=True, slots=True)
class Variant:
    """Two scores under one protocol, averaged over the tasks; None where a side has no such score."""

    name: str
    a: float | None
    b: float | None

    @property
    def gap(self) -> float | None:
        """B minus A."""
        return None if self.a is None or self.b is None else self.b - self.a


def field_differences(a: Sequence[Record], b: Sequence[Record]) -> list[tuple[str, str, str]]:
    """Return (field, in A, in B) for what differs, methods part by part."""

    def values(read: Callable[[Record], str], records: Sequence[Record]) -> str:
        return " | ".join(sorted({plain(read(record)) for record in records}))

    rows = [(name, values(read, a), values(read, b)) for name, read in FIELDS.items()]
    return [row for row in [*rows[:1], *_part_differences(a, b), *rows[1:]] if row[1] != row[2]]


def variants(a: Sequence[Record], b: Sequence[Record]) -> list[Variant]:
    """Return the scores as each side reports them, then under each protocol in which the sides differ.

    Raises: BadResults if no task is common to both.
    """
    tasks = [task for task in _tasks(a) if task in _tasks(b)]
    if not tasks:
        raise BadResults(f"no task is common to both: {', '.join(_tasks(a))}; {', '.join(_tasks(b))}")

    def variant(name: str, tasks: Sequence[str], select: str = "", figure: str = "") -> Variant:
        return Variant(name, *(_mean(side, tasks, select, figure) for side in (a, b)))

    rows = [variant("as reported by each", ())]
    if set(_tasks(a)) != set(_tasks(b)):
        rows.append(variant(f"on {quantity(len(tasks), 'common task')}", tasks))
    for select in ("best", "last"):
        if {_headline(a), _headline(b)} != {select}:
            rows.append(variant(f"{select} checkpoint", tasks, select))
    for figure in FIGURES:
        row = variant(f"{figure} in place of the value", tasks, "", figure)
        if (row.a, row.b) != (rows[0].a, rows[0].b) or row.a is None or row.b is None:
            rows.append(row)
    rows.append(Variant(DEV, _dev(a), _dev(b)))
    return [row for row in rows if row.a is not None or row.b is not None]


def matched(a: Sequence[Record], b: Sequence[Record]) -> list[tuple[str, list[Record], list[Record]]]:
    """Return the cells (method and size) in both folders, each with the common seeds. Raises: BadResults."""
    cells = []
    for cell in dict.fromkeys((record.method, record.subset.size) for record in a if record.status == "done"):
        sides = [
            {record.seed: record for record in side if (record.method, record.subset.size) == cell and record.scores}
            for side in (a, b)
        ]
        if seeds := sorted(sides[0].keys() & sides[1].keys()):
            first, second = ([side[seed] for seed in seeds] for side in sides)
            cells.append((f"{plain(cell[0])} {percent(first[0].subset.fraction)} (n={len(seeds)})", first, second))
    if not cells:
        raise BadResults("the folders have no method, fraction and seed in common")
    return cells


def _part_differences(a: Sequence[Record], b: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    """Yield the differing options of parts; of folders, those of methods of the same name and size, each once."""
    sides = [{(record.method, record.subset.size): record for record in side} for side in (a, b)]
    pairs = [(sides[0][cell], sides[1][cell]) for cell in sides[0] if cell in sides[1]] or [(a[0], b[0])]
    rows: dict[tuple[str, str, str], None] = {}
    for first, second in {(left.resolved, right.resolved): (left, right) for left, right in pairs}.values():
        if first.resolved == second.resolved:
            continue
        differing = part_differences(first.parts, second.parts)
        rows |= dict.fromkeys((f"part {part.name}", part.a, part.b) for part in differing)
    yield from rows


def _tasks(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(task for record in records for task in record.protocol.tasks))


def _headline(records: Sequence[Record]) -> Select:
    """Return the checkpoint that the records report: best where there is a dev set, else last."""
    return "best" if all(record.protocol.dev for record in records) else "last"


def _mean(records: Sequence[Record], tasks: Sequence[str], select: str = "", figure: str = "") -> float | None:
    """Return the mean over tasks (by default all) and records, at the reported checkpoint by default.

    None if a score is missing.
    """
    select, values = select or _headline(records), []
    for record in records:
        scores = {score.task: score for score in record.scores if score.select == select}
        for task in tasks or record.protocol.tasks:
            score = scores.get(task)
            values.append(None if score is None else score.detail.get(figure) if figure else score.value)
    scored = [value for value in values if value is not None]
    return fmean(scored) if scored and len(scored) == len(values) else None


def _dev(records: Sequence[Record]) -> float | None:
    """Return the mean dev score at the best checkpoint, as a table has it that reports the dev set as the test set."""
    best = [
        dev
        for record in records
        if record.trace is not None
        for step, _, dev in record.trace.curve
        if step == record.trace.best_step and dev is not None
    ]
    return fmean(best) if len(best) == len(records) else None
