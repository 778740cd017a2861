"""Repeat the job of a record and compare the result bit by bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cseb.commands.screen import say
from cseb.errors import BadResults
from cseb.parameters import TRUST_REMOTE_CODE, argument, command
from cseb.progress import tell
from cseb.text import plain, quantity

if TYPE_CHECKING:
    from cseb.experiment.job import Job
    from cseb.methods.spec import Method
    from cseb.records.items import Items
    from cseb.records.record import Record


TOLERANCE = 0.1  # score by which a repeated job may differ where equal bits are not promised


@dataclass(frozen=True, slots=True)
class Rerun:
    """The comparison of a job with its record.

    Attributes:
        key: of the record.
        differing: (what, by how much) for all that is not equal to the last bit.
        conditions: differences in versions, machine and device.
        items: whether the record has items, which were compared too.
        promised: whether equal bits are promised: under the same conditions, on a CPU or in deterministic mode.
        gap: the largest difference of a score; infinite if one is missing or the sentences differ.
        left_out: how many scores have items that an archive leaves out on purpose.
    """

    key: str
    differing: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    items: bool
    left_out: int
    promised: bool = True
    gap: float = math.inf

    @property
    def passed(self) -> bool:
        """Return whether the job was repeated: bit by bit, or within TOLERANCE where bits are not promised."""
        return self.equal or (not self.promised and self.gap <= TOLERANCE)

    @property
    def equal(self) -> bool:
        """Return whether every score and item is equal to the last bit."""
        return not self.differing


@command
def rerun(
    record: Annotated[str | Path, argument("Key of a record, its beginning, or its file.")],
    results: Annotated[str | Path, argument("Folder of records.")] = "results",
    *,
    trust_remote_code: Annotated[bool, TRUST_REMOTE_CODE] = False,
) -> Rerun:
    """Repeat the job of a record and compare all scores bit by bit. Nothing is stored.

    Task files are read where the run had them, or in CSEB_DATA_DIR.

    Returns:
        What differs.

    Raises:
        CsebError: if the job cannot be run here as it was.
    """
    from cseb.experiment.benchmark import data_folder, stored_benchmark
    from cseb.records.differences import conditions, differences
    from cseb.records.store import Store, find

    store, recorded = find(str(record), Path(results))
    benchmark = stored_benchmark(store.folder, recorded.benchmark)
    column = benchmark.column if benchmark and benchmark.corpus == recorded.corpus.name else ""
    job = job_of(recorded, column, data_folder(store.folder, recorded.benchmark), trust_remote_code)
    try:
        items = store.read_items(recorded.key)
    except BadResults:
        items = None
    tell("loading PyTorch")
    from cseb.experiment.run_job import run_job

    with TemporaryDirectory(prefix="cseb-rerun-") as temporary:
        scratch = Store(Path(temporary))
        scratch.prepare()
        repeated = run_job(job, scratch, lambda seen: tell("training, step", seen.step, seen.steps))
        again = scratch.read_items(repeated.key) if repeated.status == "done" else {}
    left_out = again.keys() - (items or {}) if store.is_archived(recorded.key) else set()
    kept = {name: again[name] for name in again.keys() - left_out}
    return Rerun(
        recorded.key,
        tuple(compared(repeated, recorded, kept, items)),
        environment := tuple(
            f"{name} {now}, in the record {before}" for name, now, before in differences(repeated, recorded, conditions)
        ),
        items is not None,
        len(left_out),
        not environment and (recorded.protocol.device == "cpu" or recorded.origin.deterministic),
        largest_gap(repeated, recorded),
    )


def print_rerun(result: Rerun) -> None:
    """Print what differs; exit with 1 if something does."""
    for what, how_far in result.differing:
        say(f"BAD {what}: {how_far}")
    for line in result.conditions:
        say(f"    {line}")
    what = "scores and items" if result.items else "scores"
    aside = f"; the archive leaves out the items of {quantity(result.left_out, 'score')}" if result.left_out else ""
    within = f"not equal, but every score is within {TOLERANCE}; equal bits are not promised under other conditions"
    outcome = "equal to the last bit" if result.equal else within if result.passed else "not equal"
    say(f"{result.key}: {what} {outcome}{aside}")
    raise typer.Exit(0 if result.passed else 1)


def job_of(record: Record, column: str, data_dir: str, trust_remote_code: bool = False) -> Job:
    """Return the job of a record, whose inputs are compared with the record when it runs. Raises: CsebError.

    column: of the corpus, as in the benchmark beside the records.
    """
    from cseb.analysis.comparable import stale
    from cseb.data.weights import find_encoder
    from cseb.experiment.job import Job

    if reason := stale(record):
        raise BadResults(f"record {record.key} cannot be rerun: {reason}")
    if (processes := record.protocol.processes) > 1:
        raise BadResults(
            f"record {record.key} is of distributed training ({processes} processes); run its benchmark again with "
            f"cseb run --processes {processes} --results ANOTHER, and compare the two with cseb show"
        )
    folder, _ = find_encoder(record.encoder.name)
    job = Job(
        folder=str(folder),
        column=column,
        data_dir=data_dir,
        trust_remote_code=trust_remote_code,
        benchmark=record.benchmark,
        label=record.method,
        method=method_of(record),
        encoder=record.encoder,
        corpus=record.corpus,
        size=record.subset.size,
        fraction=record.subset.fraction,
        seed=record.seed,
        protocol=record.protocol,
        external_inputs=record.outside,
        foreign=record.foreign,
        linear=record.origin.linear or "auto",
        deterministic=record.origin.deterministic,
    )
    if job.key != record.key:
        raise BadResults(f"record {record.key} is inconsistent with its key, which would be {job.key}")
    return job


def method_of(record: Record) -> Method:
    """Return the resolved method of a record. Raises: BadResults, BadSpec, UnknownName."""
    from cseb.methods.grammar import parse_method
    from cseb.methods.part_facts import slot_of
    from cseb.methods.spec import SEVERAL
    from cseb.registry import SLOTS

    slots: dict[str, Any] = {slot: () if slot in SEVERAL else None for slot in SLOTS}
    for stated in record.parts:
        slot = slot_of(stated.part.name)
        slots[slot] = (*slots[slot], stated.part) if slot in SEVERAL else stated.part
    method = replace(parse_method(record.method), per_fraction=(), edits=(), **slots)
    if method.resolved() != record.resolved:
        raise BadResults(f"record {record.key}: its method cannot be read: {plain(record.resolved)}")
    return method


def compared(
    repeated: Record, record: Record, items: Mapping[str, Items], recorded: Mapping[str, Items] | None
) -> list[tuple[str, str]]:
    """Return (what, by how much) for all that is not bit-equal; items are left out if the record has none (None)."""
    from cseb.records.differences import differences, scores, training

    differing: dict[str, tuple[str, str]] = {}  # one for the training, and one for each score
    for read in (training, scores):
        for name, now, before in differences(repeated, record, read):
            place = "training" if read is training else name.partition(",")[0]
            differing.setdefault(place, (name, f"{now}, in the record {before}"))
    if recorded is not None:
        for name in sorted({*items, *recorded}):
            if message := _item_difference(items.get(name), recorded.get(name)):
                differing[f"items {name}"] = f"items {name}", message
    return list(differing.values())


def largest_gap(repeated: Record, record: Record) -> float:
    """Return the largest difference of a score; infinite if one is missing or the training sentences differ."""
    scores, others = (
        {(score.task, score.select): score.value for score in each.scores if score.value is not None}
        for each in (repeated, record)
    )
    if scores.keys() != others.keys() or repeated.status != record.status or repeated.subset != record.subset:
        return math.inf
    return max((abs(value - others[name]) for name, value in scores.items()), default=0.0)


def _item_difference(now: Items | None, before: Items | None) -> str:
    import numpy as np

    if now is None or before is None or now.shape != before.shape:
        return "shapes differ"
    if now.tobytes() == before.tobytes():
        return ""
    unequal = ~((now == before) | (np.isnan(now) & np.isnan(before)))
    most = float(np.max(np.abs(now - before), initial=0.0, where=np.isfinite(now - before)))
    return f"{int(unequal.sum())} of {now.size} differ, by {most:.3g} at most"
