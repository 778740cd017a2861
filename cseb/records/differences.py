"""What differs between two records, in the order of causes: inputs, parts, computation, training, scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cseb.records.method_text import part_differences
from cseb.records.record import Record, Source
from cseb.text import percent, plain

Facts = dict[str, object]
Difference = tuple[str, str, str]  # what differs, and its value in the first and in the second record


def tag(source: Source) -> str:
    """Return the name and the beginning of the hash, such as bert-base-uncased@86b5c2d1."""
    return f"{plain(source.name)}@{source.sha256[:8]}"


def inputs(record: Record) -> Facts:
    """Return what a job reads, and what draws its random numbers."""
    return {
        "method": record.method,
        "encoder": tag(record.encoder),
        "corpus": tag(record.corpus),
        "written by": "" if record.generated is None else str(record.generated),
        "external inputs": ", ".join(map(tag, record.outside)),
        "sentences": f"{record.subset.size:,} ({percent(record.subset.fraction)})",
        "seed": record.seed,
        "data seen": ", ".join(record.data_seen) or "none",
    }


def computation(record: Record) -> Facts:
    """Return versions and protocol."""
    protocol = record.protocol
    return {
        "trainer version": record.trainer_version,
        "encoder version": record.encoder_version,
        "tasks": ", ".join(protocol.tasks),
        "task data": protocol.data[:8],
        "checkpoint": f"best on {protocol.dev}" if protocol.dev else "last",
        "threads": protocol.threads,
        "processes": protocol.processes,
        "device": protocol.device,
    }


def conditions(record: Record) -> Facts:
    """Return machine and software, which decide rounding."""
    origin = record.origin
    names = ("cseb", "commit", "machine", "dtype", "linear")
    return {name: getattr(origin, name) for name in names} | {"processor": origin.device} | origin.versions


def training(record: Record) -> Facts:
    """Return the sentences and the course of training."""
    facts: Facts = {"status": record.status, "subset": record.subset.sha256[:8]}
    if record.trace is not None:
        for step, loss, dev in record.trace.curve:
            facts |= {f"training at step {step}, mean loss": loss, f"training at step {step}, dev": dev}
        facts |= {"steps": record.trace.steps, "best step": record.trace.best_step}
    return facts


def scores(record: Record) -> Facts:
    """Return every score with its further figures."""
    return {
        f"{score.task} {score.select}{name and f', {name}'}": value
        for score in record.scores
        for name, value in {"": score.value, **score.detail}.items()
    }


def differences(first: Record, second: Record, *facts: Callable[[Record], Facts]) -> Iterator[Difference]:
    """Yield what differs in these facts, in their order; the parts of the methods after the inputs."""
    for read in facts:
        ours, theirs = read(first), read(second)
        for name in {**ours, **theirs}:
            if ours.get(name) != theirs.get(name):
                yield name, _shown(ours.get(name)), _shown(theirs.get(name))
        if read is inputs:
            yield from ((f"part {part.name}", part.a, part.b) for part in part_differences(first.parts, second.parts))


def _shown(value: object) -> str:
    return "none" if value in (None, "") else plain(str(value))
