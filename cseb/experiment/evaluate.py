"""Evaluate an encoder without training: encode, score, write the record."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from cseb.embedders.interface import Embedder, EncoderOptions
from cseb.errors import BadData, CsebError
from cseb.experiment.corpus_checks import vocabulary_remark
from cseb.experiment.origin import origin, peak_rss_mb
from cseb.experiment.plan import versioned
from cseb.experiment.run_job import score_of
from cseb.experiment.scores import Scores
from cseb.methods import third_party
from cseb.methods.part_facts import is_part
from cseb.progress import counted, remark, tell
from cseb.records.items import Items
from cseb.records.method_text import read_method
from cseb.records.record import SCHEMA, Cost, Foreign, Protocol, Record, Score, Source, Subset, Trace, data_sha256
from cseb.records.store import Store
from cseb.tasks.evaluate import Checked, load_task, score_each
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Loaded, Task
from cseb.training.pair_tuning import tuner_of
from cseb.version import ENCODER_VERSION

NOTHING = hashlib.sha256(b"").hexdigest()  # in place of a corpus


def evaluate(
    embedder: Embedder,
    how: EncoderOptions,
    tasks: str,
    data_dir: str,
    store: Store | None,
    threads: int = 1,
) -> Scores:
    """Score an encoder on tasks and store the record, or return the stored one. Tasks that fail are named in it.

    how: the options it was opened with. threads: of the CPU, which are set already.
    Raises: CsebError if the encoder or the store cannot be used, or no task can be scored.
    """
    named = parse_tasks(tasks)
    names = tuple(task.name for task in named)
    loaded, failed = _load(named, Path(data_dir) if data_dir else None)
    if not loaded:
        raise BadData("; ".join(reasons(failed)))
    key = _key(embedder, how, loaded, threads)
    folder = store.folder if store is not None else None
    if store is not None and (record := store.find(key)) is not None:
        return Scores(names, record, failed | _collapsed(record.scores, None), folder, reused=True)
    started, clock = datetime.now(UTC), time.perf_counter()
    tell("loading the encoder")
    opened = embedder.open()
    embed = Checked(opened, embedder.alone)
    notes = list(embedder.notes)
    if embedder.folder is not None:
        texts = [text for _, data in loaded for text in data.sentences()]
        if line := vocabulary_remark(embedder.folder, texts):
            remark(line)
            notes.append(line)
    scored: list[tuple[Task, Loaded]] = []
    scores: list[Score] = []
    items: dict[str, Items] = {}
    results = score_each(loaded, embed, alone=embedder.alone, tune=tuner_of(opened))
    for (task, data), result in zip(loaded, results, strict=True):
        if isinstance(result, CsebError):
            failed[task.name] = str(result)
            continue
        scored.append((task, data))
        scores.append(score_of(task, data, *result, "last"))
        items[f"{versioned(task)}/last"] = result[1]
    failed |= _collapsed(scores, embed.not_finite)
    if not scored:
        raise CsebError("; ".join(reasons(failed)))
    record = Record(
        key=_key(embedder, how, scored, threads),
        status="done",
        benchmark="eval",
        method=embedder.method,
        format=SCHEMA,
        resolved=embedder.resolved,
        parts=read_method(embedder.resolved),
        data_seen=embedder.data_seen,
        encoder=embedder.source,
        corpus=Source(name="none", sha256=NOTHING),
        subset=Subset(size=0, fraction=1.0, sha256=NOTHING),
        seed=0,
        protocol=_protocol(scored, how.device, threads),
        scores=tuple(scores),
        trace=Trace(steps=0, best_step=0, curve=(), notes=tuple(notes)),
        cost=Cost(train_seconds=0.0, score_seconds=time.perf_counter() - clock, peak_rss_mb=peak_rss_mb()),
        foreign=tuple(Foreign(**source) for source in _foreign(embedder, scored)),
        origin=origin(how.device, how.dtype, started),
        encoder_version=ENCODER_VERSION,
    )
    if store is not None:
        store.write(record, items)
    return Scores(names, record, failed, folder)


def reasons(failed: Mapping[str, str]) -> list[str]:
    """Return one line for each reason why tasks have no score. failed: the reason by task."""
    tasks: dict[str, list[str]] = {}
    for task, reason in failed.items():
        tasks.setdefault(reason, []).append(task)
    return [
        f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} no score: {reason}"
        for reason, names in tasks.items()
    ]


def _load(named: Sequence[Task], data_dir: Path | None) -> tuple[list[tuple[Task, Loaded]], dict[str, str]]:
    """Return tasks with their data, and the reasons by task without data."""
    loaded: list[tuple[Task, Loaded]] = []
    failed: dict[str, str] = {}
    for task in counted(named, "loading tasks", len(named)):
        try:
            loaded.append((task, load_task(task, data_dir)))
        except BadData as error:
            failed[task.name] = str(error)
    return loaded, failed


def _protocol(loaded: Sequence[tuple[Task, Loaded]], device: str, threads: int) -> Protocol:
    data = data_sha256(each.sha256() for _, each in loaded)
    tasks = tuple(versioned(task) for task, _ in loaded)
    return Protocol(tasks=tasks, data=data, dev="", dev_pairs=0, threads=threads, device=device)


def vector_key(embedder: Embedder, how: EncoderOptions) -> str:
    """Return a hash of all that decides the vector of a sentence, except for rounding by the number of threads."""
    return _sha256(_identity(embedder, how))


def _identity(embedder: Embedder, how: EncoderOptions) -> dict[str, object]:
    """Return all that decides an embedding, except the number of threads, which changes its rounding."""
    identity: dict[str, object] = {
        "encoder": embedder.source.sha256,
        "resolved": embedder.resolved,
        "dtype": how.dtype,
        "device": how.device,
        "trust": how.trust_remote_code,
    }
    return identity | ({"encoder version": ENCODER_VERSION} if ENCODER_VERSION != 1 else {})  # older keys stay valid


def _key(embedder: Embedder, how: EncoderOptions, loaded: Sequence[tuple[Task, Loaded]], threads: int) -> str:
    protocol = asdict(_protocol(loaded, how.device, threads))
    others = _foreign(embedder, loaded)
    identity = {"eval": embedder.method, **_identity(embedder, how), "protocol": protocol}
    return _sha256(identity | ({"foreign": others} if others else {}))[:16]


def _foreign(embedder: Embedder, loaded: Sequence[tuple[Task, Loaded]]) -> list[dict[str, str]]:
    """Return the third-party pooler and tasks, as records have them."""
    stated = (each.part.name for each in read_method(embedder.resolved))
    parts = filter(is_part, stated)  # an encoder that is not made of parts states other names
    return [source._asdict() for source in third_party.sources(parts, [versioned(task) for task, _ in loaded])]


def _sha256(identity: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


def _collapsed(scores: Sequence[Score], not_finite: str | None) -> dict[str, str]:
    """Return the reasons by task whose score is missing."""
    why = "all similarities are equal or not finite" + (
        f"; the encoder gives no finite vector for {not_finite[:60]!r}" if not_finite is not None else ""
    )
    return {score.task.rpartition("@")[0]: why for score in scores if score.value is None}
