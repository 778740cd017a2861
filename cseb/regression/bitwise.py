"""Did our code change a number? Only the same machine class can say: there, every bit has to come back."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cseb.errors import BadResults
from cseb.records.method_text import part_differences
from cseb.records.record import Record, Select
from cseb.regression.check_results import CheckResult
from cseb.text import percent, plain


def unchanged(
    fresh: Iterable[Record], expected: Iterable[Record], digests: Mapping[str, str], held: Mapping[str, str]
) -> list[CheckResult]:
    """One answer for each record on both sides, naming the first field that differs, in the order of causes.

    digests: of the items of the fresh records; held: of the expected ones ("KEY/best" to digest). A job whose identity
    has changed is compared with the one that stood in its place.
    """
    there = {_place(one): one for one in expected}
    return [_result(one, there[_place(one)], digests, held) for one in fresh if _place(one) in there]


def cell_name(record: Record, select: Select | None = None) -> str:
    """Method, fraction, seed and checkpoint in a line."""
    last = f" {select}" if select else ""
    return f"{plain(record.method)} {percent(record.subset.fraction)} seed {record.seed}{last}"


def _place(record: Record) -> tuple[str, int, int]:
    return record.method, record.subset.size, record.seed


def _result(here: Record, there: Record, digests: Mapping[str, str], held: Mapping[str, str]) -> CheckResult:
    first = next(_differences(here, there, digests, held), "")
    return CheckResult(question="code", cell=cell_name(here), ok=not first, text=first or "equal", moved=bool(first))


def _differences(here: Record, there: Record, digests: Mapping[str, str], held: Mapping[str, str]) -> Iterator[str]:
    """Inputs first, then training in the order of its steps, then scores, then what they are made of."""
    for name in ("encoder", "corpus"):
        ours, theirs = getattr(here, name), getattr(there, name)
        if ours.sha256 != theirs.sha256:
            yield f"{name}: {ours.name} {ours.sha256[:8]}, expected {theirs.name} {theirs.sha256[:8]}"
    for ours, theirs in zip(here.outside, there.outside, strict=False):
        if ours != theirs:
            yield f"read too: {ours.name} {ours.sha256[:8]}, expected {theirs.name} {theirs.sha256[:8]}"
    if here.subset.sha256 != there.subset.sha256:
        yield f"subset: {here.subset.sha256[:8]}, expected {there.subset.sha256[:8]}: other sentences are drawn"
    yield from _methods(here, there)
    for name in ("trainer_version", "encoder_version"):
        ours, theirs = getattr(here, name), getattr(there, name)
        if ours != theirs:
            yield f"{name}: {ours}, expected {theirs}"
    for name in ("tasks", "data", "dev", "threads", "device", "processes"):
        ours, theirs = getattr(here.protocol, name), getattr(there.protocol, name)
        if ours != theirs:
            yield f"protocol.{name}: {plain(str(ours))}, expected {plain(str(theirs))}"
    if here.status != there.status:
        yield f"status: {here.status}, expected {there.status}"
    yield from curve_differences(here, there)
    yield from _scores(here, there)
    for name, digest in digests.items():
        if name.startswith(here.key) and held.get(name, digest) != digest:
            yield f"items of the {name.rpartition('/')[2]} checkpoint: digest {digest[:8]}, expected {held[name][:8]}"


def _methods(here: Record, there: Record) -> Iterator[str]:
    """The first part in which two resolved methods differ, and how."""
    if here.resolved == there.resolved:
        return
    try:
        first = next(part_differences(here.stated(), there.stated()), None)
    except BadResults as error:
        yield f"resolved: {plain(str(error))}"
        return
    if first is not None:
        yield f"resolved: {first.name}: {first.a}, expected {first.b}"


def curve_differences(here: Record, there: Record) -> Iterator[str]:
    """Where training went another way, in the order of its steps."""
    if here.trace is None or there.trace is None:
        return
    for ours, theirs in zip(here.trace.curve, there.trace.curve, strict=False):
        for name, a, b in zip(("step", "mean loss", "dev"), ours, theirs, strict=True):
            if a != b:
                yield f"training at step {ours[0]}: {name} {a!r}, expected {b!r}"
    if (here.trace.steps, here.trace.best_step) != (there.trace.steps, there.trace.best_step):
        yield f"best step: {here.trace.best_step}, expected {there.trace.best_step}"


def _scores(here: Record, there: Record) -> Iterator[str]:
    theirs = {(one.task, one.select): one for one in there.scores}
    for one in here.scores:
        other = theirs.get((one.task, one.select))
        where = f"{one.task} {one.select}"
        if other is None:
            yield f"{where}: not expected"
        elif one.value != other.value:
            yield f"{where}: {one.value!r}, expected {other.value!r}"
        elif one.detail != other.detail:
            name = next(
                name for name in {**other.detail, **one.detail} if one.detail.get(name) != other.detail.get(name)
            )
            yield f"{where}, {name}: {one.detail.get(name)!r}, expected {other.detail.get(name)!r}"
