"""Compare records bit by bit with expected ones made under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cseb.records.method_text import part_differences
from cseb.records.record import Record, Trace
from cseb.regression.check_results import CheckResult
from cseb.regression.drift import cell_of
from cseb.text import percent, plain

Facts = dict[str, object]  # in the order of causes: inputs, training step by step, scores


def unchanged(
    fresh: Iterable[Record], expected: Iterable[Record], digests: Mapping[str, str], expected_digests: Mapping[str, str]
) -> list[CheckResult]:
    """Return a result for each record on both sides, with the first field that differs in the order of causes.

    Records are paired by method, size and seed, so that a job with a new key is compared too.

    Args:
        fresh: The new records.
        expected: The expected records.
        digests: Digests of the scores per example of the fresh records by "KEY/best".
        expected_digests: The same of the expected records.
    """
    old_records = {cell_of(record): record for record in expected}
    results = []
    for new in fresh:
        if (old := old_records.get(cell_of(new))) is not None:
            first = next(_differences(new, old, digests, expected_digests), "")
            name = f"{plain(new.method)} {percent(new.subset.fraction)} seed {new.seed}"
            results.append(
                CheckResult(question="code", cell=name, ok=not first, text=first or "equal", moved=bool(first))
            )
    return results


def curve_differences(new: Record, old: Record) -> Iterator[str]:
    """Yield the differences in the course of training, in the order of its steps."""
    if new.trace is not None and old.trace is not None:
        yield from _unequal(_curve(new.trace), _curve(old.trace))


def _differences(
    new: Record, old: Record, digests: Mapping[str, str], expected_digests: Mapping[str, str]
) -> Iterator[str]:
    yield from _unequal(_inputs(new), _inputs(old))
    for part in part_differences(new.parts, old.parts):
        yield f"resolved: {part.name}: {part.a}, expected {part.b}"
    yield from _unequal(_computation(new), _computation(old))
    yield from curve_differences(new, old)
    yield from _unequal(_scores(new), _scores(old))
    for name, digest in digests.items():
        if name.startswith(new.key) and expected_digests.get(name, digest) != digest:
            select = name.rpartition("/")[2]
            yield f"items of the {select} checkpoint: digest {digest[:8]}, expected {expected_digests[name][:8]}"


def _unequal(new: Facts, old: Facts) -> Iterator[str]:
    for name in {**new, **old}:
        if new.get(name) != old.get(name):
            yield f"{name} {plain(str(new.get(name, 'none')))}, expected {plain(str(old.get(name, 'none')))}"


def _inputs(record: Record) -> Facts:
    sources = {"encoder:": record.encoder, "corpus:": record.corpus}
    sources |= {f"also used: {source.name}": source for source in record.outside}
    facts: Facts = {name: f"{source.name} {source.sha256[:8]}" for name, source in sources.items()}
    return facts | {"subset:": record.subset.sha256[:8]}


def _computation(record: Record) -> Facts:
    protocol = {
        f"protocol.{name}:": getattr(record.protocol, name)
        for name in ("tasks", "data", "dev", "threads", "device", "processes")
    }
    versions = {f"{name}:": getattr(record, name) for name in ("trainer_version", "encoder_version")}
    return {**versions, **protocol, "status:": record.status}


def _curve(trace: Trace) -> Facts:
    facts: Facts = {}
    for step, loss, dev in trace.curve:
        facts |= {f"training at step {step}: mean loss": loss, f"training at step {step}: dev": dev}
    return facts | {"steps:": trace.steps, "best step:": trace.best_step}


def _scores(record: Record) -> Facts:
    facts: Facts = {}
    for score in record.scores:
        where = f"{score.task} {score.select}"
        facts |= {f"{where}:": score.value, **{f"{where}, {name}:": value for name, value in score.detail.items()}}
    return facts
