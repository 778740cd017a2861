"""The differences between two records: how they were made, and their scores."""

from __future__ import annotations

from collections.abc import Callable

from cseb.analysis.comparable import tag
from cseb.records.method_text import part_differences
from cseb.records.record import Record
from cseb.text import percent, plain, points

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
Row = tuple[str, str, str]


def field_differences(a: Record, b: Record) -> list[Row]:
    """Return (field, in A, in B) for what differs, methods part by part."""
    rows = [(name, plain(read(a)), plain(read(b))) for name, read in FIELDS.items()]
    parts = [] if a.resolved == b.resolved else part_differences(a.parts, b.parts)
    rows[1:1] = [(f"part {part.name}", part.a, part.b) for part in parts]
    return [row for row in rows if row[1] != row[2]]


def score_differences(a: Record, b: Record) -> list[tuple[str, str, str, str]]:
    """Return (task and checkpoint, score of A, score of B, B minus A) for every score of either."""
    scores = [{(score.task, score.select): score.value for score in record.scores} for record in (a, b)]
    rows = []
    for place in dict.fromkeys([*scores[0], *scores[1]]):
        first, second = (side.get(place) for side in scores)
        gap = "--" if first is None or second is None else f"{second - first:+.2f}"
        rows.append((plain(" ".join(place)), points(first, "--"), points(second, "--"), gap))
    return rows
