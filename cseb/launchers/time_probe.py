"""How long jobs will take that are like none before: some steps of each method are timed, beside as many as will run.

Processes of their own do it, so that no number and no random stream of a run can be touched. What they find is kept in
the user's cache, one small file for each method on this machine; a file that is damaged is measured again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import multiprocessing
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from statistics import fmean

import numpy as np
from platformdirs import user_cache_path

from cseb.data.bounded import read_object
from cseb.data.files import write_whole
from cseb.data.read_corpus import beginning
from cseb.errors import BadData
from cseb.experiment.corpus_checks import read_by
from cseb.experiment.expected_time import Estimates, Probe, Span, Timed, expected
from cseb.experiment.job import Job, code
from cseb.launchers.devices import VISIBLE, gpus
from cseb.launchers.local import MALLOC, THREADS
from cseb.launchers.signals import Stop, signals_wait
from cseb.processor import processor
from cseb.progress import tell
from cseb.tasks.evaluate import is_live, load_task
from cseb.tasks.names import parse_tasks

BUDGET = 20.0  # seconds after which no further method is begun; those left are judged by the others
READ = 20_000  # lines of a corpus from which sentences to train on are drawn
FEWEST, BATCHES = 1024, 8  # sentences of a probe: so many, or so many batches where that is more
TEXTS = 256  # test sentences
DRIFT = 0.15  # of the seconds of a job, by which it may be off besides; a tenth was seen (results/speed/expected.txt)
GUESSED = 4.0  # times as fast or slow: methods that were timed differ that much (results/microworld/README.md)


def estimates(jobs: Sequence[Job], workers: int, folder: Path | None = None) -> Estimates:
    """How long each of these jobs is likely to take beside so many others; what is not known yet is timed.

    folder: of what is known, the user's cache by default.
    """
    if not jobs:
        return Estimates()
    folder = folder or user_cache_path("cseb") / "timings"
    at_once = max(1, min(workers, len(jobs), _cores()))
    crowded = (
        min(workers, len(jobs)) / at_once if jobs[0].protocol.device == "cpu" else 1.0
    )  # workers that share a core
    kinds = {job.key: _kind(job, at_once) for job in jobs}
    first: dict[str, Job] = {}
    for job in jobs:
        first.setdefault(kinds[job.key], job)
    known = {kind: found for kind in first if (found := _held(folder / f"{kind}.json")) is not None}
    measured, unknown = _measured({kind: job for kind, job in first.items() if kind not in known}, at_once)
    for kind, timed in measured.items():
        with contextlib.suppress(OSError):  # a cache saves time and nothing else
            write_whole(folder / f"{kind}.json", [json.dumps(asdict(timed)).encode()])
    known |= measured
    spans = {}
    for job in jobs:
        if (one := known.get(kinds[job.key])) is not None:
            spans[job.key] = expected(job, one, *_sentences(job)).times(crowded, 1 - DRIFT, 1 + DRIFT)
    left = [kind for kind in first if kind not in known and kind not in unknown]
    for trained in (True, False):  # a row of an untrained method costs its whole scoring
        alike = [job for job in jobs if bool(job.recipe.steps) is trained]
        rates = [_rows(job, spans[job.key]) for job in alike if job.key in spans]
        for job in alike:
            if kinds[job.key] in left and rates:
                rows = job.recipe.steps * job.recipe.batch_size
                spans[job.key] = Span(*[fmean(rates) * max(1, rows)] * 3).times(1.0, 1 / GUESSED, GUESSED)

    nothing_alike = {kind: "no like method was timed" for kind in left if first[kind].key not in spans}

    def labels(kinds: Iterable[str]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(first[kind].label for kind in kinds))

    return Estimates(
        spans,
        labels(kind for kind in first if kind in known),
        labels(kind for kind in left if kind not in nothing_alike),
        {first[kind].label: why for kind, why in (unknown | nothing_alike).items()},
    )


def _rows(job: Job, span: Span) -> float:
    """Seconds for each row that a job trains on."""
    return span.likely / max(1, job.recipe.steps * job.recipe.batch_size)


def _kind(job: Job, at_once: int) -> str:
    """Names all that decides how long the pieces of a job take: no number of the loss does, nor how many steps."""
    free = {"steps": min(1, job.recipe.steps), "warmup": 0, "eval_every": 1, "schedule": "", "pieces": ()}
    parts = [(part.name, dict(part.options) | (free if part.name == "recipe" else {})) for part in job.method.parts()]
    what = {
        "method": [[name, {key: one for key, one in held.items() if type(one) is not float}] for name, held in parts],
        "code": code(job),
        "encoder": job.encoder.sha256,
        "corpus": job.corpus.sha256,
        "protocol": [job.protocol.data, job.protocol.dev, job.protocol.tasks, job.along],
        "where": [
            job.linear,
            job.protocol.threads,
            job.protocol.device,
            at_once,
            _cores(),
            processor(),
            version("torch"),
        ],
    }
    return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _held(file: Path) -> Timed | None:
    """What is known of a method; None if nothing is, or the file is damaged."""
    try:
        return Timed.read(read_object(file))
    except BadData:
        return None


def _sentences(job: Job) -> tuple[int, int]:
    """How many distinct sentences the test tasks of a job encode, and what is scored while it trains."""
    return len(_distinct(job.tasks or _named(job), job.data_dir)), len(_distinct(_looked(job), job.data_dir))


def _named(job: Job) -> str:
    return ",".join(name.partition("@")[0] for name in job.protocol.tasks)


def _looked(job: Job) -> str:
    return ",".join(filter(None, (job.dev or job.protocol.dev.partition("@")[0], job.along)))


@cache
def _distinct(names: str, data_dir: str) -> list[str]:
    """Sorted; those of tasks that call the encoder themselves are not known."""
    folder = Path(data_dir) if data_dir else None
    loaded = [load_task(task, folder) for task in parse_tasks(names)] if names else []
    return sorted({sentence for one in loaded if not is_live(one) for sentence in one.sentences()})


def _probe(job: Job) -> Probe:
    corpus = beginning(job.corpus.name, job.column, READ, job.data_dir)
    batch = job.recipe.batch_size if job.recipe.steps else 1
    count = max(1, min(len(corpus), job.size, max(FEWEST, BATCHES * batch)) // batch) * batch  # whole batches
    chosen = np.random.default_rng(0).permutation(len(corpus))[:count]
    texts = _distinct(job.tasks or _named(job), job.data_dir)
    some = texts[:: max(1, len(texts) // TEXTS)]
    return Probe(job, read_by(job.method, corpus, chosen.tolist()), some, len(_distinct(_looked(job), job.data_dir)))


def _measured(jobs: Mapping[str, Job], at_once: int) -> tuple[dict[str, Timed], dict[str, str]]:
    """What was timed in time, and why others could not be, by kind."""
    if not jobs:
        return {}, {}
    tell("timing methods", 0, len(jobs))
    names = list(jobs)
    parts = [
        [*names[place::at_once], *([] if len(names) > place else [names[place % len(names)]])]
        for place in range(at_once)
    ]
    found: dict[str, list[Timed]] = {}
    unknown: dict[str, str] = {}
    workers: dict[Connection, BaseProcess] = {}
    devices = gpus() if any(job.protocol.device == "cuda" for job in jobs.values()) else ()
    try:
        for place, part in enumerate(parts):
            work = [(kind, _probe(jobs[kind])) for kind in part]
            gpu = devices[place % len(devices)] if devices else ""
            pipe, process = _started(work[0][1].job.protocol.threads, gpu)
            workers[pipe] = process
            with contextlib.suppress(OSError):  # it has died: no answer is heard
                pipe.send(work)
        while workers:
            for ready in wait(list(workers)):
                assert isinstance(ready, Connection)
                pipe = ready
                try:
                    kind, answer = pipe.recv()
                except (EOFError, OSError):
                    _end(pipe, workers.pop(pipe))
                    continue
                if isinstance(answer, Timed):
                    found.setdefault(kind, []).append(answer)
                else:
                    unknown[kind] = answer
                tell("timing methods", len(found.keys() | unknown.keys()), len(jobs))
    finally:
        with signals_wait():
            for pipe, process in workers.items():
                process.kill()
                _end(pipe, process)
    return {kind: Timed.mean(some) for kind, some in found.items()}, {
        kind: why for kind, why in unknown.items() if kind not in found
    }


def _started(threads: int, gpu: str) -> tuple[Connection, BaseProcess]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    for name, value in MALLOC.items():
        os.environ.setdefault(name, value)
    resource_tracker.ensure_running()
    process = context.Process(target=_work, args=(theirs, threads, gpu), daemon=True)
    with signals_wait() as received:
        process.start()
    theirs.close()
    if received:
        process.kill()
        raise Stop
    return ours, process


def _end(pipe: Connection, process: BaseProcess) -> None:
    pipe.close()
    process.join()
    process.close()


def _work(pipe: Connection, threads: int, gpu: str) -> None:
    """Time one probe after the other until the time is up; what libraries print is nobody's business."""
    for name in THREADS:
        os.environ[name] = str(threads)  # read when torch and tokenizers are loaded, which is not yet
    if gpu:
        os.environ[VISIBLE] = gpu
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    with contextlib.suppress(EOFError, OSError):
        work = pipe.recv()
        from cseb.experiment.timing import timed

        until = time.monotonic() + BUDGET
        for place, (kind, probe) in enumerate(work):
            if place and time.monotonic() > until:
                return
            try:
                answer: object = timed(probe)
            except Exception as error:  # the run will say what is wrong with it, if anything is
                answer = f"{type(error).__name__}: {error}"
            pipe.send((kind, answer))
