"""From a benchmark to jobs: each with an identity that names its record file. No torch here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from cseb.data.corpus import Corpus
from cseb.data.read_corpus import read_corpus
from cseb.data.subset import size_of
from cseb.data.weights import find_encoder
from cseb.errors import BadBenchmark
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.corpus_checks import check_corpus
from cseb.experiment.job import Job, external_inputs, foreign
from cseb.methods.grammar import parse_methods, parse_scale
from cseb.methods.spec import Method
from cseb.progress import counted, remark
from cseb.records.record import Protocol, Source, Vary
from cseb.registry import scale_of
from cseb.tasks.evaluate import data_sha256, load_task
from cseb.tasks.names import parse_tasks
from cseb.tasks.task import Task
from cseb.text import quantity


def plan(
    benchmark: Benchmark,
    *,
    threads: int = 1,
    device: str = "cpu",
    processes: int = 1,
    trust_remote_code: bool = False,
    vary: Vary = "all",
    along: str = "",
    linear: str = "auto",
) -> list[Job]:
    """Return every job of the grid, checked: corpus, encoder and task files are read once, before anything is trained.

    Order: all of seed 0 first, small fractions first: a grid that is stopped early is a whole grid of fewer seeds.
    Raises: BadBenchmark, BadData, BadSpec, UnknownName.
    """
    methods = parse_methods(benchmark.methods)
    protocol = replace(
        protocol_of(benchmark.tasks, benchmark.dev, benchmark.data_dir, threads, device), processes=processes
    )
    for task in parse_tasks(along) if along else ():
        load_task(task, Path(benchmark.data_dir) if benchmark.data_dir else None)
    corpus = read_corpus(benchmark.corpus, benchmark.column, benchmark.data_dir)
    for line in corpus.remarks():
        remark(line)
    folder, weights = find_encoder(benchmark.encoder)
    count = len(corpus)
    sources = {
        "encoder": Source(name=benchmark.encoder, sha256=weights),
        "corpus": Source(name=corpus.name, sha256=corpus.sha256),
    }
    cells = [  # once for all seeds
        (size, fraction, method, resolved, external_inputs(resolved), foreign(resolved, protocol))
        for size, fraction in _shares(benchmark, count)
        for method in methods
        for resolved in [scaled(benchmark, method, fraction)]
    ]
    jobs = [
        Job(
            benchmark=benchmark.name,
            label=str(method),
            method=resolved,
            **sources,
            folder=str(folder),
            column=benchmark.column,
            size=size,
            fraction=fraction,
            seed=seed,
            protocol=protocol,
            data_dir=benchmark.data_dir,
            trust_remote_code=trust_remote_code,
            tasks=benchmark.tasks,
            dev=benchmark.dev,
            vary=vary,
            external_inputs=read,
            along=along,
            foreign=others,
            linear=linear,
        )
        for seed in range(benchmark.seeds)
        for size, fraction, method, resolved, read, others in cells
    ]
    check_jobs(jobs, corpus)
    return jobs


def protocol_of(tested: str, dev: str, data_dir: str, threads: int, device: str) -> Protocol:
    """Return what is measured. Every task is loaded once, so that a missing file is reported before training.

    tested: tasks as typed, "" for none. dev: the task that chooses the checkpoint, or "". Raises: CsebError.
    """
    folder = Path(data_dir) if data_dir else None
    tasks = parse_tasks(tested) if tested else []
    for task in counted(tasks, "loading tasks", len(tasks)):
        load_task(task, folder)
    name, pairs = "", 0
    chosen = parse_tasks(dev) if dev else []
    if dev:
        if len(chosen) != 1:
            raise BadBenchmark(f"dev is {dev!r}; one task chooses the checkpoint, or none")
        if chosen[0].name in {task.name for task in tasks}:
            raise BadBenchmark(f"dev {dev!r} is also a test task; choosing and testing must not share data")
        if scale := scale_of(chosen[0].protocol):
            raise BadBenchmark(f"dev is {dev!r}, whose figure is {scale}; a task in points chooses a checkpoint")
        name, pairs = versioned(chosen[0]), len(load_task(chosen[0], folder).clusters())
    data = data_sha256((*tasks, *chosen), folder)
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


def scaled(benchmark: Benchmark, method: Method, fraction: float) -> Method:
    """Return the method as this benchmark trains it at this fraction. Raises: BadSpec, UnknownName."""
    scale = (*parse_scale(benchmark.scale), *parse_scale(benchmark.per_method.get(str(method), "")))
    return method.at(fraction, scale, benchmark.steps)


def check_jobs(jobs: Sequence[Job], corpus: Corpus) -> None:
    """Refuse jobs that cannot run, or would run twice, as far as this is known without PyTorch.

    Options have the types that parts allow, and the corpus has what methods read. Whether the parts go together and
    with the encoder is checked when a run starts, where they are constructed: see `Grid.prepare`.

    An untrained method needs no batch. It is planned for every fraction and seed like any other, although its scores
    are equal. That costs one evaluation each, and tables and paired comparisons need no special case.

    Raises:
        CsebError: a job cannot run.
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
        recipe, cell = job.recipe, f"{job.label} at fraction {job.fraction:g}"
        if recipe.steps and not job.method.terms:
            raise BadBenchmark(
                f"{job.label} has {quantity(recipe.steps, 'step')} but no term to train with; add one or set steps=0"
            )
        if recipe.steps and job.size < recipe.batch_size:
            raise BadBenchmark(
                f"{cell} has {quantity(job.size, 'sentence')}, fewer than one batch of {recipe.batch_size}; take a "
                f"fraction of at least {recipe.batch_size / count:.2g}, or {job.label}+recipe(batch_size={job.size})"
                if recipe.batch_size <= count
                else f"{cell} has {quantity(job.size, 'sentence')} and the corpus {count}, fewer than one batch of "
                f"{recipe.batch_size}; try {job.label}+recipe(batch_size={max(job.size, 1)}) or a larger corpus"
            )
    for job in {(job.label, job.method.views): job for job in first_seed}.values():
        check_corpus(job.label, job.method, corpus)
