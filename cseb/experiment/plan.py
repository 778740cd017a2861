"""Plan the jobs of a benchmark. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from cseb.data.corpus import Corpus, read_corpus
from cseb.data.subset import size_of
from cseb.data.weights import find_encoder
from cseb.errors import BadBenchmark
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.corpus_checks import check_corpus, corpus_remarks, encoder_remarks
from cseb.experiment.job import Job, external_inputs, foreign
from cseb.experiment.tuning import Cell, Settings, edits, search
from cseb.methods.grammar import parse_methods, parse_scale
from cseb.methods.spec import Edit, Method
from cseb.progress import counted, remark
from cseb.records.record import Protocol, Record, Source, Tuning
from cseb.tasks.evaluate import data_sha256, load_task
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Task, scale_of
from cseb.text import quantity

NO_RECORDS: Mapping[str, Record] = MappingProxyType({})


def plan(
    benchmark: Benchmark,
    *,
    records: Mapping[str, Record] = NO_RECORDS,
    threads: int = 1,
    device: str = "cpu",
    processes: int = 1,
    trust_remote_code: bool = False,
    along: str = "",
    linear: str = "auto",
    deterministic: bool = False,
) -> list[Job]:
    """Return every job of the grid, checked: corpus, encoder and task files are read once, before anything is trained.

    Of a benchmark that tunes, these are the trials alone until all of them have a record, and then the reported jobs
    with the chosen values too. Jobs of seed 0 come first, and of each seed those with few sentences.

    records: finished jobs by key, for tuning. along: tasks to score at every evaluation step. Others are options of
    `run`. Raises: CsebError.
    """
    methods = parse_methods(benchmark.methods)

    def measured(tasks: str) -> Protocol:
        protocol = protocol_of(tasks, benchmark.dev, benchmark.data_dir, threads, device)
        return replace(protocol, processes=processes)

    protocol = measured(benchmark.tasks)
    for task in parse_tasks(along) if along else ():
        load_task(task, Path(benchmark.data_dir) if benchmark.data_dir else None)
    corpus = read_corpus(benchmark.corpus, benchmark.column, benchmark.data_dir)
    folder, weights = find_encoder(benchmark.encoder)
    resolved = [method.at(1.0) for method in methods]
    for line in [*corpus_remarks(resolved, corpus), *encoder_remarks(resolved, folder, corpus)]:
        remark(line)
    first = partial(
        Job,
        benchmark=benchmark.name,
        encoder=Source(name=benchmark.encoder, sha256=weights),
        folder=str(folder),
        corpus=Source(name=corpus.name, sha256=corpus.sha256),
        column=benchmark.column,
        seed=0,
        data_dir=benchmark.data_dir,
        trust_remote_code=trust_remote_code,
        dev=benchmark.dev,
        linear=linear,
        deterministic=deterministic,
    )

    def job(method: Method, size: int, fraction: float, changes: Sequence[Edit], **measured: Any) -> Job:
        resolved = scaled(benchmark, method, fraction, changes)
        others = foreign(resolved, measured["protocol"])
        read = external_inputs(resolved, folder)
        cell: dict[str, Any] = {"label": str(method), "size": size, "fraction": fraction}
        return first(method=resolved, external_inputs=read, foreign=others, **cell, **measured)

    trials: Sequence[Job] = ()
    chosen: Mapping[tuple[str, int], tuple[Settings, Tuning]] = {}
    sizes = _shares(benchmark, len(corpus))
    tuned = sizes if benchmark.tune is None or benchmark.tune.at is None else _shares(_at(benchmark), len(corpus))
    if benchmark.tune is not None:
        dev, tasks = _dev_tasks(benchmark)
        test = measured(tasks)
        cells = [
            Cell(str(method), size, partial(job, method, size, fraction, tasks=tasks, protocol=test))
            for size, fraction in tuned
            for method in methods
        ]
        done = search(benchmark.tune, dev, [cell for cell in cells if cell.job(()).recipe.steps], records)
        trials = done.trials
        check_jobs(trials, corpus)
        if done.chosen is None:
            return [*trials]
        chosen = done.chosen
    cell_jobs = []
    for size, fraction in sizes:
        for method in methods:
            settings, tuning = chosen.get((str(method), size if tuned is sizes else tuned[0][0]), ((), None))
            options = {"tasks": benchmark.tasks, "protocol": protocol, "along": along, "tuning": tuning}
            cell_jobs.append(job(method, size, fraction, edits(settings), **options))
    jobs = [replace(each, seed=seed) for seed in range(benchmark.seeds) for each in cell_jobs]
    check_jobs(jobs, corpus)
    return [*trials, *jobs]


def _at(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark with the one size at which it tunes. Raises: BadBenchmark."""
    assert benchmark.tune is not None and benchmark.tune.at is not None
    at = benchmark.tune.at
    if benchmark.sizes and at != int(at):
        raise BadBenchmark(f"tune: at is {at:g}; a number of sentences is needed, as in sizes")
    if benchmark.fractions and at > 1:
        raise BadBenchmark(f"tune: at is {at:g}; a fraction of the corpus up to 1 is needed, as in fractions")
    return benchmark.model_copy(update={"sizes": (int(at),)} if benchmark.sizes else {"fractions": (float(at),)})


def _dev_tasks(benchmark: Benchmark) -> tuple[str, str]:
    """Return the task that chooses tuned values, as records name it, and what trials score. Raises: BadBenchmark.

    Trials score no task where the dev set that selects checkpoints chooses the values too.
    """
    assert benchmark.tune is not None
    named = parse_tasks(benchmark.tune.dev or benchmark.dev)
    if len(named) != 1 or named[0].name in {task.name for task in parse_tasks(benchmark.tasks)}:
        raise BadBenchmark(
            f"tune: dev is {benchmark.tune.dev!r}; one task is needed that is no test task of the benchmark"
        )
    same = benchmark.dev and named[0].name == parse_tasks(benchmark.dev)[0].name
    return versioned(named[0]), "" if same else benchmark.tune.dev


def protocol_of(tested: str, dev: str, data_dir: str, threads: int, device: str) -> Protocol:
    """Return what is measured. Every task is loaded once, so that a missing file is reported before training.

    tested: tasks as typed, "" for none. dev: the task that chooses the checkpoint, or "". Raises: CsebError.
    """
    folder = Path(data_dir) if data_dir else None
    tasks = parse_tasks(tested) if tested else []
    for task in counted(tasks, "loading tasks", len(tasks)):
        load_task(task, folder)
    name, pairs = "", 0
    dev_tasks = parse_tasks(dev) if dev else []
    if dev:
        if len(dev_tasks) != 1:
            raise BadBenchmark(f"dev is {dev!r}; one task chooses the checkpoint, or none")
        if dev_tasks[0].name in {task.name for task in tasks}:
            raise BadBenchmark(f"dev {dev!r} is also a test task; choosing and testing must not share data")
        if scale := scale_of(dev_tasks[0].protocol):
            raise BadBenchmark(f"dev is {dev!r}, whose figure is {scale}; a task in points chooses a checkpoint")
        name, pairs = versioned(dev_tasks[0]), len(load_task(dev_tasks[0], folder).clusters())
    data = data_sha256((*tasks, *dev_tasks), folder)
    names = tuple(map(versioned, tasks))
    return Protocol(tasks=names, data=data, dev=name, dev_pairs=pairs, threads=threads, device=device)


def versioned(task: Task) -> str:
    """Return a task as records name it: sts12@1."""
    return f"{task.name}@{task.version}"


def _shares(benchmark: Benchmark, count: int) -> list[tuple[int, float]]:
    """Return (sentences, fraction) of each column of the grid, small ones first. Raises: BadBenchmark."""
    if benchmark.sizes:
        if max(benchmark.sizes) > count:
            raise BadBenchmark(f"sizes: {max(benchmark.sizes)} sentences are asked for, the corpus has {count}")
        return [(size, size / count) for size in sorted(benchmark.sizes)]
    return [(size_of(fraction, count), fraction) for fraction in sorted(benchmark.fractions)]


def scaled(benchmark: Benchmark, method: Method, fraction: float, tuned: Sequence[Edit] = ()) -> Method:
    """Return the method as this benchmark trains it at this fraction, with tuned options. Raises: CsebError."""
    scale = (*parse_scale(benchmark.scale), *parse_scale(benchmark.per_method.get(str(method), "")), *tuned)
    return method.at(fraction, scale, benchmark.steps)


def check_jobs(jobs: Sequence[Job], corpus: Corpus) -> None:
    """Refuse jobs that cannot run, or would run twice, as far as this is known without PyTorch. Raises: CsebError.

    Options have the types that parts allow, and the corpus has what methods read. Whether the parts go together and
    with the encoder is checked when a run starts, where they are constructed: see `Grid.prepare`.

    An untrained method needs no batch. It is planned for every fraction and seed like any other, although its scores
    are equal. That costs one evaluation each, and tables and paired comparisons need no special case.
    """
    count = len(corpus)
    seen: dict[str, Job] = {}
    for job in jobs:
        if (other := seen.setdefault(job.key, job)) is not job:
            raise BadBenchmark(
                f"fractions {other.fraction:g} and {job.fraction:g} are both {quantity(job.size, 'sentence')}; keep one"
            )
    first_seed = [job for job in jobs if job.seed == jobs[0].seed]  # those of other seeds differ in nothing else
    for job in first_seed:
        recipe = job.recipe
        if recipe.steps and not job.method.terms:
            raise BadBenchmark(
                f"{job.label} has {quantity(recipe.steps, 'step')} but no term to train with; add one or set steps=0"
            )
        if recipe.steps and job.size < recipe.batch_size:
            smaller = f", or {job.label}+recipe(batch_size={job.size})" if job.size > 1 else ""
            needed = f"take a larger corpus than these {count:,}"
            if recipe.batch_size <= count:
                needed = f"take at least {recipe.batch_size:,} (fraction {recipe.batch_size / count:.2g})"
            raise BadBenchmark(
                f"{job.label} at fraction {job.fraction:g} has {quantity(job.size, 'sentence')}, fewer than one batch "
                f"of {recipe.batch_size}; {needed}{smaller}"
            )
    for job in {(job.label, job.method.views): job for job in first_seed}.values():
        check_corpus(job.label, job.method, corpus)
