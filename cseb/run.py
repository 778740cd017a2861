"""One job into one record: train, score both checkpoints, write."""

from __future__ import annotations

import functools
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

# These two are needed later, and take seconds to load: so they are there before the clock of a job starts.
import scipy.stats  # noqa: F401
import torch
import transformers.modeling_utils  # noqa: F401

import cseb
from cseb import build as building
from cseb import train as training
from cseb.data.corpus import Corpus, read_corpus
from cseb.data.outside import contents
from cseb.data.subset import draw, subset_sha256
from cseb.data.weights import encoder_sha256
from cseb.encoder import Encoder
from cseb.errors import OUT_OF_MEMORY, BadData, memory_ran_out
from cseb.export import export
from cseb.plan import Job, Progress, versioned
from cseb.processes import share
from cseb.results.record import Cost, Failure, Origin, Record, Score, Select, Subset, Trace
from cseb.results.store import Items, Store, plain
from cseb.tasks.evaluate import data_sha256, load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Loaded, Outcome, Task

LIBRARIES = ("accelerate", "numpy", "scipy", "tokenizers", "torch", "transformers")


def run_job(job: Job, store: Store, watch: Callable[[Progress], None], models: Path | None = None) -> Record:
    """Train and score one job, write its record and return it. models: where trained encoders are kept, if anywhere.

    A loss that is not finite, or too little memory, gives a record with status "failed". Where several processes share
    the job, the first one scores and writes; the records of the others are incomplete. Raises: CsebError for what a
    user can mend.
    """
    torch.set_num_threads(job.protocol.threads)
    # several processes would get as many threads as there are cores, whatever was set, if Accelerate did not find this
    os.environ.setdefault("OMP_NUM_THREADS", str(job.protocol.threads))
    started = datetime.now(UTC)
    corpus = _corpus(job.corpus.name, job.column)
    _check(job, corpus)
    sentences = corpus.take(draw(len(corpus), job.size, job.random))
    tasks = _tasks(_task_names(job), job.data_dir)
    built = building.build(job.method, Path(job.folder), job.random, job.trust_remote_code)
    clock, cpu, here = time.perf_counter(), time.process_time(), share()

    reached = 0

    def look(seen: training.Look) -> None:
        nonlocal reached
        reached = seen.step
        watch(Progress(job.key, seen.step, built.recipe.steps, seen.loss, seen.dev))

    trained: training.Trained | None = None
    trace: Trace | None = None
    failure: Failure | None = None
    scores: list[Score] = []
    items: dict[str, Items] = {}
    train_seconds = score_seconds = others = 0.0
    try:
        looks = _Looks.of(job)
        select = looks.select if looks.tasks else None
        trained = training.train(built, sentences, job.random, job.protocol.device, select, look)
        train_seconds = time.perf_counter() - clock
        others = here.others(time.process_time() - cpu, job.protocol.device)  # the others do not score
        if here.main:
            scores, items = _score_both(built.encoder, trained, tasks)
        score_seconds = time.perf_counter() - clock - train_seconds
        trace = Trace(
            steps=built.recipe.steps,
            best_step=trained.best_step,
            curve=trained.curve,
            notes=(*built.notes, *trained.notes, *_smaller(built.encoder)),
            along=looks.along([step for step, _, _ in trained.curve], 1 if built.second is None else 2),
        )
    except training.Diverged as error:  # in all processes alike
        failure = Failure(step=error.step, reason=error.reason)
        train_seconds = time.perf_counter() - clock
        others = here.others(time.process_time() - cpu, job.protocol.device)
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error) or here.count > 1:  # where others wait for this process, all of them have to end
            raise
        failure = Failure(step=reached, reason=_too_little(error))
        train_seconds = time.perf_counter() - clock
    record = Record(
        key=job.key,
        status="done" if failure is None else "failed",
        benchmark=job.benchmark,
        method=job.label,
        resolved=job.method.resolved(),
        data_seen=job.method.data_seen(),
        encoder=job.encoder,
        corpus=job.corpus,
        outside=job.outside,
        subset=Subset(size=job.size, fraction=job.fraction, sha256=subset_sha256(sentences)),
        seed=job.seed,
        vary=job.vary,
        protocol=job.protocol,
        scores=tuple(scores),
        trace=trace,
        failure=failure,
        cost=Cost(
            train_seconds=train_seconds,
            score_seconds=score_seconds,
            peak_rss_mb=peak_rss_mb(),
            cpu_seconds=time.process_time() - cpu + others,
        ),
        origin=origin(job.protocol.device, built.recipe.precision, started),
    )
    if here.main:
        store.write(record, items)
        if models is not None and trained is not None and failure is None:  # once the record is safe
            training.restore(built.encoder, trained.best)
            export(built.encoder, job, models / job.key)
    return record


def _too_little(error: BaseException) -> str:
    """Why a job failed that had too little memory. Its batch is part of the method, so only its place can change."""
    said = plain(str(error)) or type(error).__name__
    return f"{OUT_OF_MEMORY}: {said}; take fewer jobs at a time or more memory, and run it with --retry-failed"


def _smaller(encoder: Encoder) -> list[str]:
    """What a record must say of how it was scored: other batches round otherwise, in the seventh digit."""
    return [f"scored in batches {encoder.smaller} times smaller, for want of memory"] if encoder.smaller > 1 else []


def _check(job: Job, corpus: Corpus) -> None:
    """A job may wait for hours in a cluster's queue, and its record says what was planned.

    Raises: BadData if corpus, task data, encoder or what the method names have become others meanwhile.
    """
    tasks = (*parse_tasks(_task_names(job)), *(parse_tasks(dev) if (dev := _dev_name(job)) else ()))
    data = data_sha256(tasks, Path(job.data_dir) if job.data_dir else None)
    outside = contents(job.method.outside())
    for what, here, planned in (
        (f"the corpus {job.corpus.name}", corpus.sha256, job.corpus.sha256),
        ("the data of the tasks", data, job.protocol.data),
        (f"the encoder {job.encoder.name}", encoder_sha256(Path(job.folder), job.folder), job.encoder.sha256),
        *((one.name, outside.get(one.name), one.sha256) for one in job.outside),
    ):
        if here != planned:
            raise BadData(f"{what} changed after the grid was planned; run the same command again")


def _task_names(job: Job) -> str:
    return job.tasks or ",".join(name.partition("@")[0] for name in job.protocol.tasks)


def _dev_name(job: Job) -> str:
    return job.dev or job.protocol.dev.partition("@")[0]


@functools.lru_cache(maxsize=2)
def _corpus(name: str, column: str) -> Corpus:
    return read_corpus(name, column)


def _tasks(names: str, data_dir: str) -> list[tuple[Task, Loaded]]:
    return [(task, load_task(task, Path(data_dir) if data_dir else None)) for task in parse_tasks(names)]


@dataclass(slots=True)
class _Looks:
    """What is scored at every look during training: the dev set, which chooses, and tasks that are only followed."""

    tasks: list[tuple[Task, Loaded]]
    dev: bool
    seen: list[dict[str, float | None]] = field(default_factory=list)

    @classmethod
    def of(cls, job: Job) -> _Looks:
        """Those a job asks for."""
        dev = _dev_name(job)
        return cls(
            _tasks(",".join(filter(None, (dev, job.along))), job.data_dir) if dev or job.along else [], bool(dev)
        )

    def select(self, encoder: Encoder) -> float | None:
        """Dev points of the encoder, or None where nothing may be chosen by rated pairs."""
        found = {task.name: outcome.value for (task, _), (outcome, _) in self._scored(encoder)}
        points = found.pop(self.tasks[0][0].name) if self.dev else None
        self.seen.append(found)
        return points

    def along(self, steps: Sequence[int], encoders: int) -> tuple[tuple[int, dict[str, float | None]], ...]:
        """Figures of the followed tasks at these steps, the last ones looked at; models of a first stage came before.

        Of several encoders the last one counts, as at the end.
        """
        found = self.seen[len(self.seen) - encoders * len(steps) :][encoders - 1 :: encoders]
        return tuple(zip(steps, found, strict=True)) if any(found) else ()

    def _scored(self, encoder: Encoder) -> Iterator[tuple[tuple[Task, Loaded], tuple[Outcome, Items]]]:
        return zip(self.tasks, score_all(self.tasks, encoder.embed), strict=True)


def _score_both(
    encoder: Encoder, trained: training.Trained, tasks: list[tuple[Task, Loaded]]
) -> tuple[list[Score], dict[str, Items]]:
    """Scores of the best and the last checkpoint; encoded once where they are the same."""
    training.restore(encoder, trained.last)
    scores, items = _scores(encoder, tasks, "last")
    if trained.best is trained.last:
        best = [replace(score, select="best") for score in scores]
        best_items = {name.replace("/last", "/best"): values for name, values in items.items()}
    else:
        training.restore(encoder, trained.best)
        best, best_items = _scores(encoder, tasks, "best")
    return best + scores, best_items | items


def _scores(encoder: Encoder, tasks: list[tuple[Task, Loaded]], select: Select) -> tuple[list[Score], dict[str, Items]]:
    outcomes = score_all(tasks, encoder.embed)
    scores: list[Score] = []
    items: dict[str, Items] = {}
    for (task, _), (outcome, each) in zip(tasks, outcomes, strict=True):
        scores.append(score_of(task, outcome, each, select))
        items[f"{versioned(task)}/{select}"] = each
    return scores, items


def score_of(task: Task, outcome: Outcome, items: Items, select: Select) -> Score:
    """One task's outcome as a record holds it."""
    return Score(
        task=versioned(task),
        protocol=task.protocol,
        select=select,
        value=outcome.value,
        detail=outcome.detail,
        items=len(items),
    )


def origin(device: str, precision: str, started: datetime) -> Origin:
    """Where and with what this process computes. precision: fp32, bf16 or fp16."""
    return Origin(
        cseb=cseb.__version__,
        commit=_commit(),
        versions={"python": platform.python_version(), **{name: version(name) for name in (*LIBRARIES, *_extras())}},
        machine=f"{platform.system()} {platform.machine()}",
        device=torch.cuda.get_device_name() if device == "cuda" else platform.processor() or platform.machine(),
        dtype=precision,
        started=started.isoformat(timespec="seconds"),
        finished=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _extras() -> Iterator[str]:
    """Libraries that a user may do without and that this process has loaded."""
    return (name for name in ("mteb", "sentence-transformers") if name.replace("-", "_") in sys.modules)


@functools.cache
def _commit() -> str:
    """The commit of the source tree cseb runs from, with a + if files differ from it; "" when it is installed."""
    home = Path(cseb.__file__).resolve().parent.parent
    if not (home / ".git").exists():
        return ""
    git = functools.partial(subprocess.run, cwd=home, capture_output=True, text=True, check=False)
    try:
        commit = git(["git", "rev-parse", "--short", "HEAD"])
        changed = git(["git", "status", "--porcelain", "--untracked-files=no", "cseb"])
    except OSError:
        return ""
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def peak_rss_mb() -> float:
    """The largest resident set of this process so far, in MB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
