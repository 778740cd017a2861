"""Compare two results: what differs between them, and how much of their gap it explains.

Every figure comes from what records keep: both checkpoints, subsets of a year put together, averaged or weighted, and
the dev scores of every evaluation. So a number can be read under another protocol without the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean

from cseb.analysis.comparable import tag
from cseb.errors import BadResults
from cseb.papers.printed import Printed
from cseb.papers.scores import departures, printed_names, published
from cseb.records.method_text import part_differences
from cseb.records.record import Record, Select
from cseb.text import percent, plain, quantity

FIELDS: tuple[tuple[str, Callable[[Record], str]], ...] = (
    ("method", lambda one: one.method),
    ("encoder", lambda one: tag(one.encoder)),
    ("corpus", lambda one: tag(one.corpus)),
    ("written by", lambda one: "" if one.generated is None else str(one.generated)),
    ("external inputs", lambda one: ", ".join(map(tag, one.outside))),
    ("sentences", lambda one: f"{one.subset.size:,} ({percent(one.subset.fraction)})"),
    ("subset", lambda one: one.subset.sha256[:8]),
    ("seed", lambda one: str(one.seed)),
    ("data seen", lambda one: ", ".join(one.data_seen) or "none"),
    ("tasks", lambda one: ", ".join(one.protocol.tasks)),
    ("task data", lambda one: one.protocol.data[:8]),
    ("evaluation", lambda one: ", ".join(sorted({score.protocol for score in one.scores}))),
    ("checkpoint", lambda one: f"best on {one.protocol.dev}" if one.protocol.dev else "last"),
    ("threads", lambda one: str(one.protocol.threads)),
    ("processes", lambda one: str(one.protocol.processes)),
    ("device", lambda one: f"{one.protocol.device}, {one.origin.device}"),
    ("dtype", lambda one: one.origin.dtype),
    ("linear layers", lambda one: one.origin.linear),
    ("machine", lambda one: one.origin.machine),
    ("cseb", lambda one: f"{one.origin.cseb} {one.origin.commit}".strip()),
    ("versions", lambda one: ", ".join(f"{name} {held}" for name, held in one.origin.versions.items())),
)
FIGURES = ("spearman.all", "spearman.mean", "spearman.wmean", "pearson.all")
DEV = "points on the dev set at the best checkpoint"


@dataclass(frozen=True, slots=True)
class Variant:
    """Both sides under one protocol, in points averaged over the tasks; None where a side has no such number."""

    name: str
    a: float | None
    b: float | None

    @property
    def gap(self) -> float | None:
        """B minus A."""
        return None if self.a is None or self.b is None else self.b - self.a


def field_differences(a: Sequence[Record], b: Sequence[Record]) -> list[tuple[str, str, str]]:
    """(field, in A, in B) for what differs, methods part by part."""
    found = [(name, *_held(read, a, b)) for name, read in FIELDS]
    return [row for row in [*found[:1], *_part_differences(a, b), *found[1:]] if row[1] != row[2]]


def variants(a: Sequence[Record], b: Sequence[Record]) -> list[Variant]:
    """The gap as each side reports it, then step by step under one protocol, then under others.

    A record reports the best checkpoint where there is a dev set, else the last. Raises: BadResults when no task is
    common to both.
    """
    here, there = _headline(a), _headline(b)
    found = [Variant("as reported by each", *(_mean(each, ()) for each in (a, b)))]
    tasks = [task for task in _tasks(a) if task in _tasks(b)]
    if not tasks:
        raise BadResults(f"no task is common to both: {', '.join(_tasks(a))}; {', '.join(_tasks(b))}")
    if set(_tasks(a)) != set(_tasks(b)):
        found.append(Variant(f"on {quantity(len(tasks), 'common task')}", *(_mean(each, tasks) for each in (a, b))))
    for select in ("best", "last"):
        if here != there or select != here:
            found.append(Variant(f"{select} checkpoint", *(_mean(each, tasks, select) for each in (a, b))))
    for figure in FIGURES:
        read = [_mean(each, tasks, "", figure) for each in (a, b)]
        if read != [found[0].a, found[0].b] or None in read:
            found.append(Variant(f"{figure} in place of the value", *read))
    found.append(Variant(DEV, _dev(a), _dev(b)))
    return [one for one in found if one.a is not None or one.b is not None]


def against_printed(record: Sequence[Record], row: Printed) -> tuple[list[str], list[Variant]]:
    """Differences from the paper's setting, and our score under every protocol beside the published number."""
    one = record[0]
    tasks = printed_names(_tasks(record)).get(row.task, tuple(_tasks(record)))
    ours = [Variant("as reported", _mean(record, tasks), row.mean)]
    for select in ("best", "last"):
        if select != _headline(record):
            ours.append(Variant(f"{select} checkpoint", _mean(record, tasks, select), row.mean))
    if row.metric == "spearman":  # the others are no correlations, and no dev set measures them
        figures = [
            Variant(f"{figure} in place of the value", _mean(record, tasks, "", figure), row.mean) for figure in FIGURES
        ]
        ours += [*figures, Variant(DEV, _dev(record), row.mean)]
    found = [reading for reading in ours if reading.a is not None]
    if not found:
        raise BadResults(f"record {one.key} has no points of {', '.join(tasks)}, so there is nothing to compare")
    kept = found[:1] + [reading for reading in found[1:] if reading.a != found[0].a]
    return departures(one, _headline(record), row, tasks), kept


def printed_for(record: Record) -> list[Printed]:
    """Return published numbers for the tasks or averages, method and fraction of a record, on any encoder.

    Raises: BadResults.
    """
    fraction, names = record.subset.fraction, printed_names(record.protocol.tasks)
    rows = [row for name in names for row in published(record.method, name, fraction)]
    if not rows:
        raise BadResults(
            f"no paper reports {plain(record.method)} at {percent(fraction)} on "
            f"{plain(', '.join(record.protocol.tasks))}; cseb show METHOD lists published numbers"
        )
    return rows


def matched(a: Sequence[Record], b: Sequence[Record]) -> list[tuple[str, list[Record], list[Record]]]:
    """Cells (method and fraction) in both folders, each with the seeds common to both. Raises: BadResults."""
    cells = []
    for place in dict.fromkeys((one.method, one.subset.size) for one in a if one.status == "done"):
        sides = [
            {one.seed: one for one in side if (one.method, one.subset.size) == place and one.scores} for side in (a, b)
        ]
        seeds = sorted(sides[0].keys() & sides[1].keys())
        if seeds:
            here, there = ([side[seed] for seed in seeds] for side in sides)
            cells.append((f"{plain(place[0])} {percent(here[0].subset.fraction)} (n={len(seeds)})", here, there))
    if not cells:
        raise BadResults("the folders have no method, fraction and seed in common")
    return cells


def _held(read: Callable[[Record], str], *sides: Sequence[Record]) -> tuple[str, str]:
    first, second = (" | ".join(sorted({plain(read(one)) for one in side})) for side in sides)
    return first, second


def _part_differences(a: Sequence[Record], b: Sequence[Record]) -> Iterator[tuple[str, str, str]]:
    """Parts of the method that only one side has, or with other options: those options alone.

    Of folders of several methods, the methods are those of the cells in both, each once.
    """
    differing: dict[tuple[str, str, str], None] = {}
    for here, there in _method_pairs(a, b):
        try:
            rows = [(f"part {one.name}", one.a, one.b) for one in part_differences(here.stated(), there.stated())]
        except BadResults:  # shown as they stand
            rows = [("resolved", plain(here.resolved), plain(there.resolved))]
        differing |= dict.fromkeys(rows)
    yield from differing


def _method_pairs(a: Sequence[Record], b: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Records of different methods to compare: of the same name and size where both have it, else those of the first.

    Each pair of methods once.
    """
    sides = [{(one.method, one.subset.size): one for one in side} for side in (a, b)]
    shared = [place for place in sides[0] if place in sides[1]]
    pairs = [(sides[0][place], sides[1][place]) for place in shared] or [(a[0], b[0])]
    each = {(here.resolved, there.resolved): (here, there) for here, there in pairs}
    return [pair for texts, pair in each.items() if texts[0] != texts[1]]


def _tasks(records: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(task for one in records for task in one.protocol.tasks))


def _headline(records: Sequence[Record]) -> Select:
    return "best" if all(one.protocol.dev for one in records) else "last"


def _mean(records: Sequence[Record], tasks: Sequence[str], select: str = "", figure: str = "") -> float | None:
    """Points over tasks and records, None if one is lacking. No tasks are all, no select is the reported one."""
    values = []
    for one in records:
        wanted = select or _headline(records)
        scores = {score.task: score for score in one.scores if score.select == wanted}
        for task in tasks or one.protocol.tasks:
            score = scores.get(task)
            value = None if score is None else score.detail.get(figure) if figure else score.value
            if value is None:
                return None
            values.append(value)
    return fmean(values) if values else None


def _dev(records: Sequence[Record]) -> float | None:
    """The score on the dev set, as a table has it that reports the dev set as the test set."""
    best = [
        points
        for one in records
        if one.trace is not None
        for step, _, points in one.trace.curve
        if step == one.trace.best_step and points is not None
    ]
    return fmean(best) if len(best) == len(records) else None
