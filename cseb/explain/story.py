"""The whole origin of one record, in words."""

from __future__ import annotations

from collections.abc import Iterator

from cseb.results.record import Record, Select
from cseb.results.store import Store, plain, stale
from cseb.results.study import percent

Row = tuple[str, str]


def story(record: Record, store: Store) -> list[tuple[str, list[Row]]]:
    """(heading, rows of name and value): what was trained on what, how it went, what came out, and with what it ran."""
    return [
        ("job", list(_job(record, store))),
        ("method", [(name, options) for name, options in parts(record.resolved)]),
        ("protocol", list(_protocol(record))),
        ("training", list(_training(record))),
        ("scores", list(_scores(record))),
        ("ran on", list(_origin(record))),
    ]


def parts(resolved: str) -> list[Row]:
    """(`infonce@1`, `weight=1.0, temperature=0.05`) for every part of a resolved method, in its order."""
    found, depth, quote, start, cells = [], 0, "", 0, ["", ""]
    for place, letter in enumerate(resolved):
        if quote:
            quote = "" if letter == quote and resolved[place - 1] != "\\" else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "(":
            if depth == 0:
                cells[0], start = resolved[start:place].strip(), place + 1
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth == 0:
                cells[1], start = resolved[start:place], place + 1
        elif letter == " " and depth == 0:
            found.append((cells[0] + resolved[start:place], cells[1]))
            start = place + 1
    return [*found, (cells[0] + resolved[start:].strip(), cells[1])]


def _job(record: Record, store: Store) -> Iterator[Row]:
    yield "key", record.key
    yield "file", plain(str(store.runs / f"{record.key}.json"))
    items = store.items / f"{record.key}.npz"
    yield "items", plain(str(items)) if items.is_file() else "not kept"
    yield (
        "status",
        record.status
        if record.failure is None
        else (f"failed at step {record.failure.step}: {plain(record.failure.reason)}"),
    )
    yield "method", plain(record.method)
    yield "benchmark", plain(record.benchmark)
    yield "encoder", f"{plain(record.encoder.name)}, sha256 {record.encoder.sha256}"
    yield "corpus", f"{plain(record.corpus.name)}, sha256 {record.corpus.sha256}"
    for one in record.outside:
        yield "read too", f"{plain(one.name)}, sha256 {one.sha256}"
    yield "sentences", f"{record.subset.size:,}, {percent(record.subset.fraction)}, sha256 {record.subset.sha256}"
    yield "seed", str(record.seed)
    yield "data seen", ", ".join(record.data_seen) or "nothing is trained"
    if why := stale(record):
        yield "out of date", why


def _protocol(record: Record) -> Iterator[Row]:
    protocol = record.protocol
    yield "tasks", plain(", ".join(protocol.tasks))
    yield "measured as", plain(", ".join(sorted({one.protocol for one in record.scores})))
    yield "task data", f"sha256 {protocol.data}"
    yield (
        "checkpoint",
        f"best on {protocol.dev} ({protocol.dev_pairs:,} rated pairs), and last" if protocol.dev else "last",
    )
    shared = f", {protocol.processes} processes" if protocol.processes > 1 else ""
    yield "arithmetic", f"{protocol.device}, threads: {protocol.threads}{shared}, {record.origin.dtype}"


def _training(record: Record) -> Iterator[Row]:
    if record.trace is None:
        return
    yield "steps", f"{record.trace.steps}, best checkpoint at {record.trace.best_step}"
    for step, loss, dev in record.trace.curve:
        yield f"step {step}", f"mean loss {loss:.4f}" + ("" if dev is None else f", dev {dev:.2f}")
    for note in record.trace.notes:
        yield "note", plain(note)


def _scores(record: Record) -> Iterator[Row]:
    selects: list[Select] = sorted({one.select for one in record.scores})
    for task in record.protocol.tasks:
        held = {one.select: one for one in record.scores if one.task == task}
        values = [f"{select} {_points(held[select].value)}" for select in selects if select in held]
        if values:
            yield plain(task), f"{', '.join(values)}, {held[next(iter(held))].items} items"


def _origin(record: Record) -> Iterator[Row]:
    origin, cost = record.origin, record.cost
    yield "when", f"{origin.started} to {origin.finished}"
    yield "took", f"{cost.train_seconds:.1f} s training, {cost.score_seconds:.1f} s scoring, {cost.peak_rss_mb:.0f} MB"
    yield "machine", plain(f"{origin.machine}, {origin.device}")
    yield "cseb", plain(origin.cseb + (f", commit {origin.commit}" if origin.commit else ""))
    yield "versions", plain(", ".join(f"{name} {version}" for name, version in origin.versions.items()))


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"
