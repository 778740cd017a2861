"""Compare records bit by bit with expected ones made under the same conditions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cseb.errors import BadResults
from cseb.records.method_text import part_differences
from cseb.records.record import Record, Select
from cseb.regression.check_results import CheckResult
from cseb.text import percent, plain


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
    former = {_place(record): record for record in expected}
    return [
        _result(record, former[_place(record)], digests, expected_digests)
        for record in fresh
        if _place(record) in former
    ]


def cell_name(record: Record, select: Select | None = None) -> str:
    """Return method, fraction, seed and checkpoint in a line."""
    last = f" {select}" if select else ""
    return f"{plain(record.method)} {percent(record.subset.fraction)} seed {record.seed}{last}"


def _place(record: Record) -> tuple[str, int, int]:
    return record.method, record.subset.size, record.seed


def _result(new: Record, old: Record, digests: Mapping[str, str], expected_digests: Mapping[str, str]) -> CheckResult:
    first = next(_differences(new, old, digests, expected_digests), "")
    return CheckResult(question="code", cell=cell_name(new), ok=not first, text=first or "equal", moved=bool(first))


def _differences(
    new: Record, old: Record, digests: Mapping[str, str], expected_digests: Mapping[str, str]
) -> Iterator[str]:
    """Yield every difference: inputs, training in the order of its steps, scores, then scores per example."""
    for name in ("encoder", "corpus"):
        value, former = getattr(new, name), getattr(old, name)
        if value.sha256 != former.sha256:
            yield f"{name}: {value.name} {value.sha256[:8]}, expected {former.name} {former.sha256[:8]}"
    for value, former in zip(new.outside, old.outside, strict=False):
        if value != former:
            yield f"read too: {value.name} {value.sha256[:8]}, expected {former.name} {former.sha256[:8]}"
    if new.subset.sha256 != old.subset.sha256:
        yield f"subset: {new.subset.sha256[:8]}, expected {old.subset.sha256[:8]}: other sentences are drawn"
    yield from _methods(new, old)
    for name in ("trainer_version", "encoder_version"):
        value, former = getattr(new, name), getattr(old, name)
        if value != former:
            yield f"{name}: {value}, expected {former}"
    for name in ("tasks", "data", "dev", "threads", "device", "processes"):
        value, former = getattr(new.protocol, name), getattr(old.protocol, name)
        if value != former:
            yield f"protocol.{name}: {plain(str(value))}, expected {plain(str(former))}"
    if new.status != old.status:
        yield f"status: {new.status}, expected {old.status}"
    yield from curve_differences(new, old)
    yield from _scores(new, old)
    for name, digest in digests.items():
        if name.startswith(new.key) and expected_digests.get(name, digest) != digest:
            select = name.rpartition("/")[2]
            yield f"items of the {select} checkpoint: digest {digest[:8]}, expected {expected_digests[name][:8]}"


def _methods(new: Record, old: Record) -> Iterator[str]:
    """Yield the first part in which two resolved methods differ."""
    if new.resolved == old.resolved:
        return
    try:
        first = next(part_differences(new.stated(), old.stated()), None)
    except BadResults as error:
        yield f"resolved: {plain(str(error))}"
        return
    if first is not None:
        yield f"resolved: {first.name}: {first.a}, expected {first.b}"


def curve_differences(new: Record, old: Record) -> Iterator[str]:
    """Yield the differences in the course of training, in the order of its steps."""
    if new.trace is None or old.trace is None:
        return
    for value, former in zip(new.trace.curve, old.trace.curve, strict=False):
        for name, a, b in zip(("step", "mean loss", "dev"), value, former, strict=True):
            if a != b:
                yield f"training at step {value[0]}: {name} {a!r}, expected {b!r}"
    if (new.trace.steps, new.trace.best_step) != (old.trace.steps, old.trace.best_step):
        yield f"best step: {new.trace.best_step}, expected {old.trace.best_step}"


def _scores(new: Record, old: Record) -> Iterator[str]:
    former = {(score.task, score.select): score for score in old.scores}
    for score in new.scores:
        other = former.get((score.task, score.select))
        where = f"{score.task} {score.select}"
        if other is None:
            yield f"{where}: not expected"
        elif score.value != other.value:
            yield f"{where}: {score.value!r}, expected {other.value!r}"
        elif score.detail != other.detail:
            name = next(
                name for name in {**other.detail, **score.detail} if score.detail.get(name) != other.detail.get(name)
            )
            yield f"{where}, {name}: {score.detail.get(name)!r}, expected {other.detail.get(name)!r}"
