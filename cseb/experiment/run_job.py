"""Run a job: train, score both checkpoints, write the record."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

# These two take seconds to load: before the clock of a job starts.
import scipy.stats  # noqa: F401
import torch
import transformers.modeling_utils  # noqa: F401

from cseb.analysis.item_scores import ItemScores
from cseb.data.corpus import Corpus, read_corpus
from cseb.data.provenance import seen_in
from cseb.data.subset import subset_sha256
from cseb.data.weights import encoder_sha256
from cseb.encoder import linear
from cseb.encoder.distributed import SINGLE_PROCESS, distributed_context
from cseb.encoder.encoder import Encoder
from cseb.errors import OUT_OF_MEMORY, BadData, memory_ran_out
from cseb.experiment.card import licence_of, model_card
from cseb.experiment.corpus_checks import repeats
from cseb.experiment.export import export, loads
from cseb.experiment.job import Job, external_inputs, foreign
from cseb.experiment.origin import origin, peak_gpu_mb, peak_rss_mb, reset_peak_gpu_memory
from cseb.experiment.plan import versioned
from cseb.experiment.train_job import JobTraining, loaded_tasks, measured_names, overlap_of, task_names
from cseb.processor import processor
from cseb.records.items import Items
from cseb.records.method_text import stated
from cseb.records.progress import Progress
from cseb.records.record import SCHEMA, Cost, Failure, Record, Score, Select, Subset, Trace
from cseb.records.store import Store
from cseb.tasks.evaluate import data_sha256, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Loaded, Outcome, Task
from cseb.text import plain, quantity
from cseb.training.build import Built
from cseb.training.checkpoints import Trained, restore
from cseb.training.devices import set_deterministic
from cseb.training.loop import Diverged
from cseb.training.pair_tuning import tuner_of
from cseb.version import ENCODER_VERSION, TRAINER_VERSION

Scored = tuple[list[Score], dict[str, Items]]


@lru_cache(maxsize=4)
def _scored_before(*determining: object) -> list[Scored]:
    """Return a list, empty at first, for the scores that depend on nothing but these, in this process."""
    return []


def scored_checkpoints(job: Job, built: Built, trained: Trained, tasks: list[tuple[Task, Loaded]]) -> Scored:
    """Return scores, and scores per example, of the best and the last checkpoint; one is scored if they are equal.

    Untrained methods have the same weights with every seed and subset: the first job of a process scores them.
    Post-processing is fitted to the subset, so that these are always scored.
    """
    encoder = built.encoder
    if built.recipe.steps or encoder.post is not None:
        return _both(encoder, trained, tasks)
    digest = blake2b()  # the weights of a head are drawn from the seed
    for name, weights in sorted(trained.last.items()):
        digest.update(name.encode())
        digest.update(weights.reshape(-1).view(torch.uint8).numpy(force=True).tobytes())
    names = ",".join(versioned(task) for task, _ in tasks)
    how = (job.method.resolved(), job.protocol, names, job.data_dir, linear.taken())
    cache = _scored_before(job.encoder, digest.hexdigest(), *how)
    scored = cache[0] if cache else _both(encoder, trained, tasks)
    if encoder.reduction == 1:  # otherwise the record says that batches were smaller, and those of other jobs would not
        cache[:] = [scored]
    return scored


def _both(encoder: Encoder, trained: Trained, tasks: list[tuple[Task, Loaded]]) -> Scored:
    restore(encoder, trained.last)
    scores, items = _scores(encoder, tasks, "last")
    if trained.best is trained.last:
        best = [replace(score, select="best") for score in scores]
        best_items = {name.replace("/last", "/best"): values for name, values in items.items()}
    else:
        restore(encoder, trained.best)
        best, best_items = _scores(encoder, tasks, "best")
    return best + scores, best_items | items


def _scores(encoder: Encoder, tasks: list[tuple[Task, Loaded]], select: Select) -> Scored:
    outcomes = score_all(tasks, encoder.embed, tuner_of(encoder.embed))
    scores: list[Score] = []
    items: dict[str, Items] = {}
    for (task, data), (outcome, each) in zip(tasks, outcomes, strict=True):
        scores.append(score_of(task, data, outcome, each, select))
        items[f"{versioned(task)}/{select}"] = each
    return scores, items


def score_of(task: Task, data: Loaded, outcome: Outcome, items: Items, select: Select) -> Score:
    """Return the outcome of a task as records have it."""
    return Score(
        task=versioned(task),
        protocol=task.protocol,
        select=select,
        value=outcome.value,
        detail=outcome.detail,
        items=len(items),
        data=data.sha256(),
    )


def run_job(job: Job, store: Store, watch: Callable[[Progress], None], models: Path | None = None) -> Record:
    """Train and score one job, write its record and return it. models: folder of trained encoders, if they are saved.

    A loss that is not finite, or exhausted memory, gives a record with status "failed". If several processes share the
    job, they divide the encoding, and the first one writes. Raises: CsebError.
    """
    set_deterministic(job.deterministic, job.protocol.device)
    torch.set_num_threads(job.protocol.threads)
    linear.take(linear.resolved(job.linear, job.protocol.threads, job.protocol.device))
    # several processes would get as many threads as there are cores, whatever was set, if Accelerate did not find this
    os.environ.setdefault("OMP_NUM_THREADS", str(job.protocol.threads))
    started = datetime.now(UTC)
    reset_peak_gpu_memory(job.protocol.device)
    corpus = _corpus(job.corpus.name, job.column, job.data_dir, job.corpus.sha256)
    _check(job, corpus)
    tasks = loaded_tasks(task_names(job), job.data_dir)
    training = JobTraining.of(job, corpus)
    built = training.built
    overlap = overlap_of(job, training.sentences)  # before the clock starts: it is no part of the training
    clock, cpu, processes = time.perf_counter(), time.process_time(), distributed_context()

    trained: Trained | None = None
    trace: Trace | None = None
    failure: Failure | None = None
    scores: list[Score] = []
    items: dict[str, Items] = {}
    train_seconds = score_seconds = others = 0.0
    copies = repeats(training.sentences)
    repeating = f"{copies:,} of {quantity(len(training.sentences), 'training sentence')} repeat an earlier one"
    try:
        trained = training.run(watch)
        train_seconds = time.perf_counter() - clock
        scores, items = scored_checkpoints(job, built, trained, tasks)  # in all processes, which divide the encoding
        score_seconds = time.perf_counter() - clock - train_seconds
        others = processes.others(time.process_time() - cpu, job.protocol.device)
        trace = Trace(
            steps=built.recipe.steps,
            best_step=trained.best_step,
            curve=trained.curve,
            notes=(*built.notes, *trained.notes, *([repeating] if copies else []), *_smaller(built.encoder)),
            along=training.tracked(trained),
        )
    except Diverged as error:  # in all processes alike
        failure = Failure(step=error.step, reason=error.reason)
        train_seconds = time.perf_counter() - clock
        others = processes.others(time.process_time() - cpu, job.protocol.device)
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error) or processes.count > 1:  # all of them have to end
            raise
        failure = Failure(step=training.reached, reason=_out_of_memory(error))
        train_seconds = time.perf_counter() - clock
    record = Record(
        key=job.key,
        status="done" if failure is None else "failed",
        benchmark=job.benchmark,
        method=job.label,
        format=SCHEMA,
        resolved=job.method.resolved(),
        parts=stated(job.method),
        data_seen=seen_in(job.method.data_seen(), corpus.provenance),
        encoder=job.encoder,
        corpus=job.corpus,
        outside=job.external_inputs,
        foreign=job.foreign,
        subset=Subset(size=job.size, fraction=job.fraction, sha256=subset_sha256(training.sentences)),
        overlap=overlap,
        generated=corpus.provenance,
        seed=job.seed,
        purpose=job.purpose,
        tuning=job.tuning,
        trainer_version=TRAINER_VERSION,
        encoder_version=ENCODER_VERSION,
        protocol=job.protocol,
        scores=tuple(scores),
        trace=trace,
        failure=failure,
        cost=Cost(
            train_seconds=train_seconds,
            score_seconds=score_seconds,
            peak_rss_mb=peak_rss_mb(),
            cpu_seconds=time.process_time() - cpu + others,
            peak_gpu_mb=peak_gpu_mb(job.protocol.device),
        ),
        origin=origin(job.protocol.device, built.recipe.precision, started, job.deterministic),
    )
    built.encoder.distributed = SINGLE_PROCESS  # from here on the first process works alone
    if processes.main:
        store.write(record, items)
        if (
            models is not None and job.purpose == "reported" and trained is not None and failure is None
        ):  # once the record is safe
            restore(built.encoder, trained.best)
            export(built.encoder, job, models / job.key, card=_card(job, built.encoder, record, items, models))
    return record


def _out_of_memory(error: BaseException) -> str:
    """Return why a job failed whose memory was exhausted. Its batch is part of the method and cannot shrink."""
    message = plain(str(error)) or type(error).__name__
    return f"{OUT_OF_MEMORY}: {message}; take fewer jobs at a time or more memory, and run it with --rerun failed"


def _smaller(encoder: Encoder) -> list[str]:
    """Return the note of a record on smaller batches of the evaluation: they change the seventh digit."""
    return [f"scored in batches {encoder.reduction} times smaller, for want of memory"] if encoder.reduction > 1 else []


def _check(job: Job, corpus: Corpus) -> None:
    """Raise BadData if an input of the job is no longer that of its plan."""
    names = measured_names(job)
    data = data_sha256(tuple(parse_tasks(names) if names else ()), Path(job.data_dir) if job.data_dir else None)
    external = {source.name: source.sha256 for source in external_inputs(job.method, Path(job.folder))}
    for what, now, before in (
        (f"the corpus {job.corpus.name} has", corpus.sha256, job.corpus.sha256),
        ("the task data have", data, job.protocol.data),
        (f"the encoder {job.encoder.name} has", encoder_sha256(Path(job.folder), job.folder), job.encoder.sha256),
        *((f"{source.name} has", external.get(source.name, "none"), source.sha256) for source in job.external_inputs),
    ):
        if now != before:
            raise BadData(f"{what} changed: sha256 {now[:8]}, before {before[:8]}; run the benchmark again")
    planned = {part.name: part for part in job.foreign}
    for part in foreign(job.method, job.protocol):
        if (old := planned.get(part.name)) != part:
            version = f"{old.package} {old.version}" if old else "none"
            raise BadData(
                f"the code of {part.name} has changed: {part.package} {part.version}, before {version}; run the "
                "benchmark again"
            )


@lru_cache(maxsize=2)
def _corpus(name: str, column: str, data_dir: str, sha256: str) -> Corpus:
    """sha256: of its content in the plan; part of the cache key, as files can change."""
    return read_corpus(name, column, data_dir)


def _card(job: Job, encoder: Encoder, record: Record, items: dict[str, Items], models: Path) -> str:
    """Return the model card of the exported encoder."""
    data = {task.name: loaded for task, loaded in loaded_tasks(measured_names(job), job.data_dir)}
    return model_card(
        record,
        ItemScores(lambda _: items, data.__getitem__),
        name=str(models / job.key),
        licence=licence_of(Path(job.folder)),
        loads=loads(encoder, job),
        processor=processor() if job.protocol.device == "cpu" else "",
    )
