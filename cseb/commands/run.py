"""The command that trains a grid."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.hosts import MOST_PROCESSES
from cseb.commands.options import (
    BenchmarkName,
    DataDir,
    Device,
    Host,
    Linear,
    PerAllocation,
    PerGPU,
    Quiet,
    RayAddress,
    SlurmOptions,
    Threads,
    TimeLimit,
    Trust,
    Workers,
    numbers,
)
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.errors import BadBenchmark

if TYPE_CHECKING:
    from cseb.experiment.grid import Grid
    from cseb.launchers.events import Watch


def run(
    benchmark: BenchmarkName = "demo",
    *,
    on: Annotated[
        str,
        typer.Option(help="Run its grid with the encoder, corpus, tasks and scale of another benchmark, such as demo."),
    ] = "",
    methods: Annotated[str, typer.Option(help="Such as simcse,micse+recipe(steps=500); quote it.")] = "",
    encoder: Annotated[str, typer.Option(help="A folder, cseb-tiny, cseb-mini, or a hub name.")] = "",
    corpus: Annotated[str, typer.Option(help="A file, wikipedia, wikipedia:COUNT, or hub:OWNER/NAME/FILE.")] = "",
    column: Annotated[
        str, typer.Option(help="Column of a table's sentences, or several: anchor=title,positive=body.")
    ] = "",
    data_dir: DataDir = "",
    tasks: Annotated[str, typer.Option(help="Such as sts or stsb,sickr.")] = "",
    dev: Annotated[
        str, typer.Option(help="The dev set, a task, that selects the best checkpoint; none for no selection.")
    ] = "",
    fractions: Annotated[str, typer.Option(help="Fractions of the corpus, each in (0, 1], such as 0.001,0.01.")] = "",
    sizes: Annotated[str, typer.Option(help="Numbers of sentences in place of fractions.")] = "",
    seeds: Annotated[int | None, typer.Option(min=1, help="How many seeds, counted from 0.")] = None,
    steps: Annotated[
        int | None, typer.Option(min=0, help="Optimiser steps of every method that trains, and of each of its stages.")
    ] = None,
    vary: Annotated[
        str, typer.Option(help="What the seed decides: subset, init, order, dropout, or all of them.")
    ] = "all",
    along: Annotated[
        str, typer.Option(help="Tasks to score at every evaluation during training, such as geometry or sts.")
    ] = "",
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
    processes: Annotated[
        int,
        typer.Option(
            min=1, max=MOST_PROCESSES, help="Processes of a job's distributed training; they split each batch."
        ),
    ] = 1,
    threads: Threads = 1,
    linear: Linear = "auto",
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the jobs, store nothing.")] = False,
    quiet: Quiet = False,
    fresh: Annotated[bool, typer.Option("--fresh/--resume", help="Run jobs again that have a record.")] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run jobs again whose record says failed.")
    ] = False,
    trust_remote_code: Trust = False,
) -> None:
    """Train and score every method, fraction and seed that has no record yet.

    Options override the benchmark's fields. An interrupted grid resumes where it stopped.
    """
    from cseb.api.grid import chosen_benchmark, plan_grid
    from cseb.commands import hosts
    from cseb.launchers import spawn_ranks as several
    from cseb.launchers.job_runner import first
    from cseb.tasks.names import spoken

    together = several.started()
    if processes > 1 and together == 1 and not dry_run:
        raise typer.Exit(several.start(processes, sys.argv[1:]))
    if processes > 1 and together not in (1, processes):
        raise BadBenchmark(f"--processes {processes}, but {together} processes were started; leave the option out")
    limit = hosts.seconds_of(time_limit)
    if limit is not None and max(together, processes) > 1:
        raise BadBenchmark("--time-limit watches over jobs of one process each; leave it or --processes out")
    chosen = chosen_benchmark(
        benchmark,
        on=on,
        methods=methods,
        encoder=encoder,
        corpus=corpus,
        column=column,
        fractions=numbers(fractions, float, "--fractions"),
        sizes=numbers(sizes, int, "--sizes"),
        seeds=seeds,
        tasks=tasks,
        dev=dev,
        data_dir=data_dir,
        steps=steps,
    )
    quiet = quiet or not first()
    with telling(quiet):
        planned = plan_grid(
            chosen,
            results,
            workers=workers,
            launcher=launcher,
            ray_address=ray_address,
            slurm=slurm or (),
            jobs_per_allocation=jobs_per_allocation,
            jobs_per_gpu=jobs_per_gpu,
            processes=max(together, processes),
            threads=threads,
            linear=linear,
            device=device,
            vary=vary,
            along=along,
            save_models=save_models,
            fresh=fresh,
            retry_failed=retry_failed,
            trust_remote_code=trust_remote_code,
            time_limit=limit,
        )
    for line in [] if quiet else spoken(",".join(filter(None, (chosen.tasks, chosen.dev)))):
        say(line, err=True)
    from cseb.api.grid_text import ending, listing, outlook

    with telling(quiet):  # until the jobs begin, which have a display of their own
        planned.grid.check()
    if dry_run:
        say(listing(planned.grid))
        return
    for line in [] if quiet or not planned.grid.todo else outlook(planned.grid):
        say(line, err=True)
    with telling(quiet):
        summary = planned.run(lambda grid: watching(grid, quiet))
    if not quiet or summary.stopped:
        with suppress(OSError):  # a full disk or a closed pipe; the records are there
            say(ending(planned.grid, summary, fresh), err=quiet)
    if not first() and not summary.stopped:
        return  # how it went is said by the first, which still scores: a failure now would have it killed
    raise typer.Exit(summary.exit_code or (1 if planned.grid.failed else 0))


def watching(grid: Grid, quiet: bool) -> AbstractContextManager[Watch]:
    """What shows the events of a grid while it runs."""
    from cseb.commands import progress as display

    jobs, failed = {job.key: job for job in grid.jobs}, grid.failed
    done = set(jobs) - {job.key for job in grid.todo} - failed
    board = display.Board(jobs, done, grid.seconds, grid.workers, failed=failed)
    return display.watching(board, quiet=quiet)
