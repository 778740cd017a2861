"""The command that trains a grid, and what others need that train one too."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cseb.cli.hosts import (
    Device,
    Host,
    PerAllocation,
    PerGPU,
    RayAddress,
    SlurmOptions,
    Threads,
    TimeLimit,
    Workers,
)
from cseb.errors import BadBenchmark, BadResults, one_of
from cseb.streams import ALL, VARIED

if TYPE_CHECKING:
    from cseb.benchmark import Benchmark
    from cseb.launchers import Launcher
    from cseb.launchers.events import Summary
    from cseb.plan import Job
    from cseb.results.record import Record, Vary
    from cseb.results.store import Store

BenchmarkName = Annotated[str, typer.Argument(help="A YAML file, or a name that `cseb list benchmarks` shows.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]
Trust = Annotated[bool, typer.Option("--trust-remote-code", help="Run Python code that comes with the encoder.")]


def run(
    benchmark: BenchmarkName = "demo",
    *,
    on: Annotated[str, typer.Option(help="Its grid on another's encoder, corpus, tasks and scale: --on demo.")] = "",
    methods: Annotated[str, typer.Option(help="Such as simcse,micse+recipe(steps=500); quote it.")] = "",
    encoder: Annotated[str, typer.Option(help="A folder, microworld, or a hub name.")] = "",
    corpus: Annotated[str, typer.Option(help="A file, microworld:COUNT, or hub:OWNER/NAME/FILE.")] = "",
    column: Annotated[str, typer.Option(help="Column of the sentences, if the corpus is a table.")] = "",
    data_dir: Annotated[str, typer.Option(help="Folder of task files in SentEval's layout.")] = "",
    tasks: Annotated[str, typer.Option(help="Such as sts or stsb,sickr.")] = "",
    dev: Annotated[str, typer.Option(help="The rated pairs that choose the best checkpoint; none chooses none.")] = "",
    fractions: Annotated[str, typer.Option(help="Shares of the corpus, each in (0, 1], such as 0.001,0.01.")] = "",
    sizes: Annotated[str, typer.Option(help="Numbers of sentences in place of fractions.")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds, counted from 0.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, help="Optimiser steps of every method that trains, and of each of its stages.")
    ] = None,
    vary: Annotated[
        str, typer.Option(help="What the seed decides: subset, init, order, dropout, or all of them.")
    ] = "all",
    along: Annotated[str, typer.Option(help="Tasks to follow during training, such as geometry or sts.")] = "",
    results: Annotated[Path, typer.Option(help="Folder of records.")] = Path("results"),
    save_models: Annotated[
        bool, typer.Option("--save-models", help="Keep trained encoders in RESULTS/models.")
    ] = False,
    workers: Workers = "auto",
    launcher: Host = "local",
    ray_address: RayAddress = "",
    slurm: SlurmOptions = None,
    jobs_per_allocation: PerAllocation = "auto",
    time_limit: TimeLimit = "",
    jobs_per_gpu: PerGPU = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes that share each batch of a job.")] = 1,
    threads: Threads = 1,
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the jobs, train nothing.")] = False,
    quiet: Quiet = False,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Run jobs again that have a record.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run jobs again whose record says failed.")
    ] = False,
    trust_remote_code: Trust = False,
) -> None:
    """Train and score every method, share and seed that has no record yet.

    Options take the place of the benchmark's fields. A grid that was stopped goes on where it was.
    """
    from cseb import benchmark as benchmarks
    from cseb.cli import hosts, several
    from cseb.launchers.task import first
    from cseb.plan import plan
    from cseb.results.store import Store
    from cseb.tasks.names import spoken

    together = several.started()
    if processes > 1 and together == 1 and not dry_run:
        raise typer.Exit(several.start(processes, sys.argv[1:]))
    if processes > 1 and together not in (1, processes):
        raise BadBenchmark(f"--processes {processes}, but {together} processes were started; leave the option out")
    limit = hosts.seconds_of(time_limit)
    if limit is not None and max(together, processes) > 1:
        raise BadBenchmark("--time-limit watches over jobs of one process each; leave it or --processes out")
    loaded = benchmarks.load(benchmark)
    merged = benchmarks.override(
        benchmarks.moved(loaded, benchmarks.load(on)) if on else loaded,
        methods=methods,
        encoder=encoder,
        corpus=corpus,
        column=column,
        fractions=fractions,
        sizes=sizes,
        seeds=seeds,
        tasks=tasks,
        dev=dev,
        data_dir=data_dir,
        steps=steps,
    )
    away = hosts.elsewhere(launcher, ray_address)
    where = hosts.device_of(device, away)
    together = max(together, processes)
    if together > 1 and launcher != "local":
        raise BadBenchmark(f"--processes goes with --launcher local, not with {launcher}")
    jobs = plan(
        merged,
        threads=threads,
        device=where,
        processes=together,
        trust_remote_code=trust_remote_code,
        vary=cast("Vary", one_of((ALL, *VARIED), vary, "--vary")),
        along=along,
    )
    at_once = hosts.workers_of(workers, threads, where, jobs_per_gpu, away, together)
    wanted = None if away and workers == "auto" else at_once
    host = hosts.launcher_of(launcher, wanted, ray_address, slurm or (), jobs_per_allocation, jobs_per_gpu or 1)
    models = results / "models" if save_models else None
    grid = Grid.of(merged, jobs, Store(results), at_once, fresh, retry_failed, host, models)
    quiet = quiet or not first()
    for line in [] if quiet else spoken(",".join(filter(None, (merged.tasks, merged.dev)))):
        typer.echo(line, err=True)
    if dry_run:
        typer.echo(grid.listing())
        return
    summary = grid.run(quiet, models, limit)
    if not quiet or summary.stopped:
        with suppress(OSError):  # a full disk or a closed pipe; the records are there
            typer.echo(grid.ending(summary, fresh), err=quiet)
    if not first() and not summary.stopped:
        return  # how it went is said by the first, which still scores: a failure now would have it killed
    raise typer.Exit(summary.exit_code or (1 if grid.failed else 0))


@dataclass(frozen=True, slots=True)
class Grid:
    """The jobs of a benchmark, the folder of their records, the records it held at first, and what is to be run."""

    benchmark: Benchmark
    jobs: Sequence[Job]
    store: Store
    workers: int
    records: Mapping[str, Record]
    todo: Sequence[Job]
    launcher: Launcher | None = None  # workers on this machine if nothing else is said

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        jobs: Sequence[Job],
        store: Store,
        workers: int,
        fresh: bool = False,
        retry_failed: bool = False,
        launcher: Launcher | None = None,
        models: Path | None = None,
    ) -> Grid:
        """Find out what is there already, without making a folder. models: where each job shall have one, if at all."""
        held = store.load()[0] if store.exists() else []
        records = {record.key: record for record in held}
        again = {record.key for record in held if fresh or (retry_failed and record.status == "failed")}
        if models is not None:
            again |= {record.key for record in held if record.status == "done" and not (models / record.key).is_dir()}
        todo = [job for job in jobs if job.key not in records or job.key in again]
        return cls(benchmark, jobs, store, workers, records, todo, launcher)

    @property
    def failed(self) -> set[str]:
        """Keys of jobs that failed in an earlier run and are not run again."""
        kept = {job.key for job in self.jobs} - {job.key for job in self.todo}
        return {key for key in kept if self.records[key].status == "failed"}

    def run(self, quiet: bool, models: Path | None = None, time_limit: float | None = None) -> Summary:
        """Run what is to be run. Whatever a user can mend is said before anything trains. time_limit: see Task."""
        from cseb import display, plan
        from cseb.launchers import launch
        from cseb.launchers.local import Local

        _check_parts(self.todo)
        self.store.prepare(*[models] if models else [])
        self._leave_plan()
        jobs, failed = {job.key: job for job in self.jobs}, self.failed
        done = set(jobs) - {job.key for job in self.todo} - failed
        seconds = plan.estimate(self.jobs, list(self.records.values()))
        board = display.Board(jobs, done, seconds, self.workers, failed=failed)
        with display.watching(board, quiet=quiet) as watch:
            again = frozenset(self.records) & {job.key for job in self.todo}
            todo = self.agreed(plan.longest_first(self.todo, seconds, self.workers))
            where = self.launcher or Local(self.workers)
            return launch(todo, self.store, where, watch, models=models, again=again, time_limit=time_limit)

    def agreed(self, todo: Sequence[Job]) -> Sequence[Job]:
        """These jobs, or where several processes share each of them, those of the first process in its order."""
        protocol = self.jobs[0].protocol
        if protocol.processes == 1:
            return todo
        from cseb.processes import agreed

        jobs = {job.key: job for job in self.jobs}
        keys = agreed([job.key for job in todo], protocol.device, protocol.threads)
        if not jobs.keys() >= set(keys):
            raise BadBenchmark("the first process has other jobs: are encoder, corpus and data the same on all hosts?")
        return [jobs[key] for key in keys]

    def _leave_plan(self) -> None:
        """The benchmark as it was run, which `cseb run` takes as any other, and its jobs, for `cseb status`."""
        from cseb import benchmark as benchmarks
        from cseb.cli.status import plan_text, read_plan
        from cseb.data.files import write_whole

        name, folder = self.benchmark.name, self.store.folder
        plan = f"plan-{name}.tsv"
        text = plan_text(self.jobs, read_plan(folder / plan))
        files = {f"benchmark-{name}.yaml": benchmarks.text(self.benchmark), plan: text}
        for file, content in files.items():
            try:
                write_whole(folder / file, [content.encode()])
            except OSError as error:
                raise BadResults(f"{folder / file} cannot be written: {error.strerror or error}") from error

    def listing(self) -> str:
        """One line for each job, and how long those without a record are likely to take."""
        from cseb import describe, display, plan

        seconds = plan.estimate(self.jobs, list(self.records.values()))
        todo = {job.key for job in self.todo}
        rows = [("key", "method", "share", "sentences", "seed", "record", "expected")]
        for job in self.jobs:
            key = job.key
            record, expected = self.records.get(key), seconds[key]
            cost = "unknown" if expected is None else display.duration(expected)
            state = (record.status if record else "none", cost if key in todo else "-")
            rows.append((key, job.label, display.percent(job.fraction), str(job.size), str(job.seed), *state))
        known = [one for key in todo if (one := seconds[key]) is not None]
        said = f"{len(self.jobs)} jobs, {len(todo)} to run"
        if known:
            left = display.duration(sum(known) / max(1, min(self.workers, len(todo))))
            said += f", about {left} with {self.workers} workers"
        if unknown := len(todo) - len(known):
            said += f", {unknown} of unknown length"
        return "\n".join([*describe.aligned(rows), said, *_power(self.benchmark.seeds)])

    def ending(self, summary: Summary, fresh: bool) -> str:
        """The last line of a run."""
        broken = summary.failed + summary.refused
        if summary.stopped:
            how = "the others keep the records they had" if fresh else "the same command goes on from there"
            return f"stopped: {summary.done + broken} of {summary.total} jobs were run; {how}"
        said = f"{summary.done} jobs done" if summary.total else f"all {len(self.jobs)} jobs have records"
        said += f", {broken} failed" if broken else ""
        said += f", {len(self.failed)} failed before (--retry-failed runs them again)" if self.failed else ""
        if summary.total and not summary.done:
            return said
        return f"{said}; next: cseb report {shlex.quote(str(self.store.folder))}"


def _power(seeds: int) -> list[str]:
    """What so few seeds can and cannot show, before any time is spent on them."""
    from cseb.statistics.paired import exact_floor
    from cseb.statistics.power import Design

    if seeds >= 6:
        return []
    if (least := Design(seeds, 1.0).detectable()) is None:
        return ["one seed shows no spread, so no test of seeds is possible; use 6 seeds"]
    return [
        f"with {seeds} seeds exact tests cannot go below {exact_floor(seeds):g} (6 seeds: {exact_floor(6):.3f}); a "
        f"paired t-test finds differences from {least:.2f} sd of the differences on (80 % power)"
    ]


def _check_parts(jobs: Sequence[Job]) -> None:
    """Build the parts of each method once, without weights: what does not fit the encoder is said now."""
    distinct = {(job.method.resolved(), job.folder, job.size): job for job in jobs}
    if distinct:
        from cseb import build  # loads torch

        for job in distinct.values():
            build.check(job.method, Path(job.folder), job.trust_remote_code, job.size)
