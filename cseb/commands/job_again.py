"""Rerun a job from its record and compare the result bit by bit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from cseb.data.read_corpus import read_corpus
from cseb.data.weights import find_encoder
from cseb.errors import BadData, BadResults
from cseb.experiment.job import Job, external_inputs, foreign
from cseb.methods.grammar import parse_method
from cseb.methods.spec import SEVERAL, Method, Part
from cseb.progress import tell
from cseb.records.items import Items
from cseb.records.progress import Progress
from cseb.records.record import Foreign, Record, Source
from cseb.records.staleness import stale
from cseb.records.store import Store
from cseb.registry import SLOTS, slot_of
from cseb.regression.bitwise import curve_differences
from cseb.tasks.evaluate import data_sha256
from cseb.text import plain


def job_of(record: Record, column: str, data_dir: str, trust_remote_code: bool = False) -> Job:
    """Reconstruct the job of a record. column, data_dir: as in the benchmark that lies beside the records.

    Raises: BadData when encoder, corpus or task files are no longer what they were; BadResults when the code is not.
    """
    if why := stale(record):
        raise BadResults(f"record {record.key} cannot be rerun: {why}")
    if record.protocol.processes > 1:
        count = record.protocol.processes
        raise BadResults(
            f"record {record.key} is of distributed training ({count} processes); run its benchmark again with "
            f"cseb run --processes {count} --results ANOTHER, and compare the two with cseb show"
        )
    folder, weights = find_encoder(record.encoder.name)
    corpus = read_corpus(record.corpus.name, column, data_dir)
    method = method_of(record)
    now = {source.name: source.sha256 for source in external_inputs(method)}
    for kind, there, here in (
        ("encoder", record.encoder, weights),
        ("corpus", record.corpus, corpus.sha256),
        *(("file or model", source, now.get(source.name, "")) for source in record.outside),
    ):
        if there.sha256 != here:
            raise BadData(
                f"the {kind} {there.name} has changed: sha256 {here[:8] or 'none'}, in the record {there.sha256[:8]}"
            )
    names = [*record.protocol.tasks, *filter(None, [record.protocol.dev])]
    path = Path(data_dir) if data_dir else None
    data = data_sha256(tuple(name.rpartition("@")[0] for name in names), path)
    if data != record.protocol.data:
        raise BadData(f"the task data have changed: sha256 {data[:8]}, in the record {record.protocol.data[:8]}")
    packages = foreign(method, record.protocol)
    for one in packages:
        if one not in record.foreign:
            there_too = next((other for other in record.foreign if other.name == one.name), None)
            raise BadResults(f"record {record.key} cannot be rerun: {_other_package(one, there_too)}")
    job = Job(
        benchmark=record.benchmark,
        label=record.method,
        method=method,
        encoder=Source(name=record.encoder.name, sha256=weights),
        folder=str(folder),
        corpus=Source(name=corpus.name, sha256=corpus.sha256),
        column=column,
        size=record.subset.size,
        fraction=record.subset.fraction,
        seed=record.seed,
        protocol=record.protocol,
        data_dir=data_dir,
        trust_remote_code=trust_remote_code,
        external_inputs=record.outside,
        foreign=packages,
        linear=record.origin.linear or "auto",
    )
    if job.key != record.key:
        raise BadResults(f"record {record.key} is inconsistent with its key, which would be {job.key}")
    return job


def _other_package(here: Foreign, there: Foreign | None) -> str:
    if there is None:
        return f"it does not say with which code of {here.name} ({here.package}) it was made"
    if (here.package, here.version) != (there.package, there.version):
        return plain(f"{here.name} is of {here.package} {here.version}, in the record {there.package} {there.version}")
    return plain(f"the code of {here.name} ({here.package} {here.version}) has changed")


def method_of(record: Record) -> Method:
    """Return the resolved method of a record. Raises: BadResults, BadSpec, UnknownName."""
    slots: dict[str, list[Part]] = {slot: [] for slot in SLOTS}
    for one in record.stated():
        slots[slot_of(one.part.name)].append(one.part)
    held = {slot: tuple(some) if slot in SEVERAL else next(iter(some), None) for slot, some in slots.items()}
    method = replace(parse_method(record.method), per_fraction=(), edits=(), **held)  # type: ignore[arg-type]
    if method.resolved() != record.resolved:
        raise BadResults(f"record {record.key}: its method cannot be read: {plain(record.resolved)}")
    return method


def again(job: Job, watch: Callable[[Progress], None]) -> tuple[Record, dict[str, Items]]:
    """Run the job again without storing anything. Raises: CsebError."""
    tell("loading PyTorch")
    from cseb.experiment.run_job import run_job

    with TemporaryDirectory(prefix="cseb-rerun-") as folder:
        store = Store(Path(folder))
        store.prepare()
        record = run_job(job, store, watch)
        return record, store.read_items(record.key) if record.status == "done" else {}


def compared(
    here: Record, there: Record, items: Mapping[str, Items], held: Mapping[str, Items] | None
) -> list[tuple[str, str]]:
    """(what, how far) for all that is not bit-equal; items are left out where the record kept none (None)."""
    found = [
        (name, f"{plain(str(ours))}, in the record {plain(str(theirs))}")
        for name, ours, theirs in (
            ("status", here.status, there.status),
            ("subset", here.subset.sha256[:8], there.subset.sha256[:8]),
        )
        if ours != theirs
    ]
    found += [("training", message) for message in islice(curve_differences(here, there), 1)]
    theirs = {(one.task, one.select): one for one in there.scores}
    for one in here.scores:
        other = theirs.pop((one.task, one.select), None)
        where = f"{one.task} {one.select}"
        if other is None:
            found.append((where, "not in the record"))
        elif one.value != other.value:
            found.append(
                (where, f"{_shown(one.value)}, in the record {_shown(other.value)}{_gap(one.value, other.value)}")
            )
        elif asdict(one) != asdict(other):
            found.append((where, "equal, but its details differ"))
    found += [(f"{task} {select}", "only in the record") for task, select in theirs]
    for name in sorted({*items, *held}) if held is not None else ():
        ours, before = items.get(name), held.get(name) if held is not None else None
        if ours is None or before is None or ours.shape != before.shape:
            found.append((f"items {name}", "shapes differ"))
        elif ours.tobytes() != before.tobytes():
            unequal = ~((ours == before) | (np.isnan(ours) & np.isnan(before)))
            most = float(np.max(np.abs(ours - before), initial=0.0, where=np.isfinite(ours - before)))
            found.append((f"items {name}", f"{int(unequal.sum())} of {ours.size} differ, by {most:.3g} at most"))
    return found


def condition_differences(here: Record, there: Record) -> list[str]:
    """Differences in the environment of the two runs: library versions, machine, device, cseb itself."""
    pairs = {"cseb": (here.origin.cseb, there.origin.cseb), "commit": (here.origin.commit, there.origin.commit)}
    pairs |= {
        name: (getattr(here.origin, name), getattr(there.origin, name)) for name in ("machine", "device", "dtype")
    }
    if there.origin.linear:  # records of before do not say
        pairs["linear layers"] = (here.origin.linear, there.origin.linear)
    names = {**there.origin.versions, **here.origin.versions}
    pairs |= {name: (here.origin.versions.get(name, ""), there.origin.versions.get(name, "")) for name in names}
    return [
        f"{name} {ours or 'none'}, in the record {theirs or 'none'}"
        for name, (ours, theirs) in pairs.items()
        if ours != theirs
    ]


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.6f}"


def _gap(ours: float | None, theirs: float | None) -> str:
    return "" if ours is None or theirs is None else f" ({ours - theirs:+.3g})"
