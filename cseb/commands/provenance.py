"""The provenance of a record (training data, method, scores, environment), and its differences from another."""

from __future__ import annotations

from collections.abc import Iterator
from math import isfinite

from cseb.analysis.comparable import is_untrained, stale
from cseb.analysis.tuning import dev_score, tried
from cseb.errors import CsebError
from cseb.methods.grammar import parse_method
from cseb.records.method_text import part_differences, stated
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.text import percent, plain, points, quantity

Row = tuple[str, str]


def story(record: Record, store: Store) -> list[tuple[str, list[Row]]]:
    """Return (heading, rows of name and value): job, method, protocol, training, scores and environment."""
    return [
        ("job", list(_job(record, store))),
        ("method", list(_method(record))),
        ("replaced by the benchmark", list(_scaled(record))),
        ("tuning", list(_tuning(record, store))),
        ("protocol", list(_protocol(record))),
        ("training", list(_training(record))),
        ("scores", list(_scores(record))),
        ("ran on", list(_origin(record))),
    ]


def _method(record: Record) -> Iterator[Row]:
    """Yield every part with its options."""
    for part in record.parts:
        yield part.named, part.shown()


def _scaled(record: Record) -> Iterator[Row]:
    """Yield the options that the benchmark replaced; none if they are unknown, as of a missing plug-in."""
    if is_untrained(record):
        return
    try:
        own = parse_method(record.method).at(record.subset.fraction)
        for part in part_differences(stated(own), record.parts):
            yield part.name, f"{part.a} became {part.b}"
    except CsebError:
        return


def _job(record: Record, store: Store) -> Iterator[Row]:
    yield "key", record.key
    file, items = store.place(record.key)
    yield "file", plain(file)
    yield "items", plain(items) if items else "not kept"
    failure = record.failure
    yield "status", f"failed at step {failure.step}: {plain(failure.reason)}" if failure else record.status
    yield "method", plain(record.method)
    yield "benchmark", plain(record.benchmark)
    yield "encoder", f"{plain(record.encoder.name)}, sha256 {record.encoder.sha256}"
    yield "corpus", f"{plain(record.corpus.name)}, sha256 {record.corpus.sha256}"
    if record.generated is not None:
        yield "written by", plain(str(record.generated))
    for source in record.outside:
        yield "read too", f"{plain(source.name)}, sha256 {source.sha256}"
    for part in record.foreign:
        yield "plug-in", plain(f"{part.name} of {part.package} {part.version}, code {part.code}")
    yield "sentences", f"{record.subset.size:,}, {percent(record.subset.fraction)}, sha256 {record.subset.sha256}"
    yield "seed", str(record.seed)
    yield "data seen", ", ".join(record.data_seen) or "nothing is trained"
    for overlap in record.overlap or ():
        yield "overlap", plain(str(overlap))
    if reason := stale(record):
        yield "out of date", reason


def _tuning(record: Record, store: Store) -> Iterator[Row]:
    """Yield what a trial tries, or the trials behind a reported run, each with its dev score."""
    if (tuning := record.tuning) is None:
        return
    yield ("chosen" if tuning.trials else "tried"), plain(f"{tuning.options}, on {tuning.dev}")
    for key in tuning.trials:
        trial = store.find(key)
        if trial is None:
            yield f"trial {plain(key)}", "not in this folder"
        else:
            score = dev_score(trial)
            shown = f"dev {score:.4f}" if isfinite(score) else "collapsed"
            yield f"trial {key}", plain(f"{tried(trial, tuning.options)}, seed {trial.seed}: {shown}")


def _protocol(record: Record) -> Iterator[Row]:
    protocol = record.protocol
    yield "tasks", plain(", ".join(protocol.tasks))
    yield "measured as", plain(", ".join(sorted({score.protocol for score in record.scores})))
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
    for task in record.protocol.tasks:
        scores = sorted((score for score in record.scores if score.task == task), key=lambda score: score.select)
        values = ["--" if score.value is None else f"{score.value:.4f}" for score in scores]
        shown = [f"{score.select} {value}" for score, value in zip(scores, values, strict=True)]
        if scores:
            yield plain(task), f"{', '.join(shown)}, {quantity(scores[0].items, 'example')}"


def _origin(record: Record) -> Iterator[Row]:
    origin, cost = record.origin, record.cost
    yield "when", f"{origin.started} to {origin.finished}"
    gpu = "" if cost.peak_gpu_mb is None else f", {cost.peak_gpu_mb:.0f} MB of the GPU"
    took = f"{cost.train_seconds:.1f} s training, {cost.score_seconds:.1f} s scoring"
    yield "took", f"{took}, {cost.peak_rss_mb:.0f} MB{gpu}"
    yield "machine", plain(f"{origin.machine}, {origin.device}")
    yield "cseb", plain(origin.cseb + (f", commit {origin.commit}" if origin.commit else ""))
    yield "computed by", f"trainer@{record.trainer_version}, encoder@{record.encoder_version}"
    yield "versions", plain(", ".join(f"{name} {version}" for name, version in origin.versions.items()))


def score_differences(a: Record, b: Record) -> list[tuple[str, str, str, str]]:
    """Return (task and checkpoint, score of A, score of B, B minus A) for every score of either."""
    scores = [{(score.task, score.select): score.value for score in record.scores} for record in (a, b)]
    rows = []
    for place in dict.fromkeys([*scores[0], *scores[1]]):
        first, second = (side.get(place) for side in scores)
        gap = "--" if first is None or second is None else f"{second - first:+.2f}"
        rows.append((plain(" ".join(place)), points(first, "--"), points(second, "--"), gap))
    return rows
