"""The provenance of one record: training data, method, scores and environment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cseb.analysis.comparable import is_untrained
from cseb.errors import BadResults, CsebError
from cseb.methods.grammar import parse_method
from cseb.records.method_text import Stated, part_differences, stated
from cseb.records.record import Record, Select
from cseb.records.staleness import stale
from cseb.records.store import Store
from cseb.text import percent, plain, quantity

Row = tuple[str, str]


def story(record: Record, store: Store) -> list[tuple[str, list[Row]]]:
    """(heading, rows of name and value): what was trained on what, how it went, what came out, and with what it ran."""
    return [
        ("job", list(_job(record, store))),
        ("method", list(_method(record))),
        ("replaced by the benchmark's scale or steps", list(_scaled(record))),
        ("protocol", list(_protocol(record))),
        ("training", list(_training(record))),
        ("scores", list(_scores(record))),
        ("ran on", list(_origin(record))),
    ]


def _method(record: Record) -> Iterator[Row]:
    """Every part with its options; a text that is none is shown as it stands, with what is wrong about it."""
    try:
        for one in record.stated():
            yield one.named, one.shown()
    except BadResults as error:
        yield plain(record.resolved), plain(str(error))


def replaced(own: str | Sequence[Stated], used: str | Sequence[Stated]) -> Iterator[Row]:
    """(part, what became of its options) where a resolved method is not the method's own. Raises: BadResults."""
    for one in part_differences(own, used):
        yield one.name, f"{one.a} became {one.b}"


def _scaled(record: Record) -> Iterator[Row]:
    """What is not as the method has it by itself; nothing where that is not known, as of a plug-in that is not here."""
    if is_untrained(record):
        return
    try:
        own = parse_method(record.method).at(record.subset.fraction)
        yield from replaced(stated(own), record.stated())
    except CsebError:
        return


def _job(record: Record, store: Store) -> Iterator[Row]:
    yield "key", record.key
    file, items = store.place(record.key)
    yield "file", plain(file)
    yield "items", plain(items) if items else "not kept"
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
    if record.generated is not None:
        yield "written by", plain(str(record.generated))
    for one in record.outside:
        yield "read too", f"{plain(one.name)}, sha256 {one.sha256}"
    for other in record.foreign:
        yield "plug-in", plain(f"{other.name} of {other.package} {other.version}, code {other.code}")
    yield "sentences", f"{record.subset.size:,}, {percent(record.subset.fraction)}, sha256 {record.subset.sha256}"
    yield "seed", str(record.seed)
    yield "data seen", ", ".join(record.data_seen) or "nothing is trained"
    for each in record.overlap or ():
        yield "overlap", plain(str(each))
    if why := stale(record):
        yield "out of date", why


def _protocol(record: Record) -> Iterator[Row]:
    protocol = record.protocol
    yield "tasks", plain(", ".join(protocol.tasks))
    yield "measured as", plain(", ".join(sorted({one.protocol for one in record.scores})))
    yield "task data", f"sha256 {protocol.data}"
    yield (
        "checkpoint",
        f"best on {protocol.dev} ({protocol.dev_pairs:,} labelled items), and last" if protocol.dev else "last",
    )
    shared = f", {protocol.processes} processes" if protocol.processes > 1 else ""
    linear = f", linear layers by {plain(record.origin.linear)}" if record.origin.linear else ""
    yield "arithmetic", f"{protocol.device}, threads: {protocol.threads}{shared}, {record.origin.dtype}{linear}"


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
            yield plain(task), f"{', '.join(values)}, {quantity(held[next(iter(held))].items, 'item')}"


def _origin(record: Record) -> Iterator[Row]:
    origin, cost = record.origin, record.cost
    yield "when", f"{origin.started} to {origin.finished}"
    yield "took", f"{cost.train_seconds:.1f} s training, {cost.score_seconds:.1f} s scoring, {cost.peak_rss_mb:.0f} MB"
    yield "machine", plain(f"{origin.machine}, {origin.device}")
    yield "cseb", plain(origin.cseb + (f", commit {origin.commit}" if origin.commit else ""))
    yield "computed by", f"trainer@{record.trainer_version}, encoder@{record.encoder_version}"
    yield "versions", plain(", ".join(f"{name} {version}" for name, version in origin.versions.items()))


def _points(value: float | None) -> str:
    return "--" if value is None else f"{value:.4f}"
