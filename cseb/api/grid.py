"""A grid of methods, fractions and seeds: planned, listed, run. `cseb run` is this with a display."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from cseb.commands.arguments import joined, listed
from cseb.encoder.linear_choice import AUTO, LIBRARIES
from cseb.errors import BadBenchmark, one_of
from cseb.progress import unheard
from cseb.seeds import ALL, VARIED

if TYPE_CHECKING:
    from cseb.commands.results import Results
    from cseb.experiment.benchmark import Benchmark
    from cseb.experiment.grid import Grid
    from cseb.experiment.job import Job
    from cseb.launchers import Launcher
    from cseb.launchers.events import Summary, Watch
    from cseb.records.record import Vary


@dataclass(frozen=True, slots=True)
class PlannedGrid:
    """A grid ready to run. models: where trained encoders are kept, if anywhere. time_limit: seconds of a job.

    remote: whether jobs run on machines of which this one knows nothing.
    """

    grid: Grid
    launcher: Launcher
    models: Path | None = None
    time_limit: float | None = None
    remote: bool = False

    def run(self, watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None) -> Summary:
        """Run what has no record yet. watching: makes what is told of every event; nothing is shown by default.

        Raises: CsebError for whatever a user can fix, before anything trains.
        """
        from cseb.launchers import launch

        grid = self.grid
        grid.prepare(self.models)
        with unheard(), nullcontext(_silent) if watching is None else watching(grid) as watch:
            again = frozenset(grid.records) & {job.key for job in grid.todo}
            return launch(
                grid.in_order() if self.remote else _one_library(grid.in_order()),
                grid.store,
                self.launcher,
                watch,
                models=self.models,
                again=again,
                time_limit=self.time_limit,
            )


def _one_library(jobs: Sequence[Job]) -> Sequence[Job]:
    """The jobs with the library of their linear layers settled once for all, so that none of them finds another."""
    if not jobs:
        return jobs
    from cseb.encoder.distributed import agreed
    from cseb.encoder.linear_choice import resolved

    protocol = jobs[0].protocol
    linear: str = resolved(jobs[0].linear, protocol.threads, protocol.device)
    if protocol.processes > 1:
        (linear,) = agreed([linear], protocol.device, protocol.threads)
    return [replace(job, linear=linear) for job in jobs]


def _silent(_: object) -> None:
    """Tell nobody."""


def chosen_benchmark(benchmark: str = "demo", *, on: str = "", **settings: object) -> Benchmark:
    """A benchmark by name or file, with these settings in place of its fields of the same names; see `run`.

    What is empty or None leaves a field alone. Raises: CsebError.
    """
    from cseb.experiment import benchmark as benchmarks

    loaded = benchmarks.load(benchmark)
    given = {name: joined(value) if isinstance(value, Iterable) else value for name, value in settings.items()}
    return benchmarks.override(benchmarks.moved(loaded, benchmarks.load(on)) if on else loaded, **given)


def plan_grid(
    benchmark: Benchmark,
    results: str | Path = "results",
    *,
    workers: str | int = "auto",
    launcher: str = "local",
    ray_address: str = "",
    slurm: Sequence[str] = (),
    jobs_per_allocation: str = "auto",
    jobs_per_gpu: int | None = None,
    processes: int = 1,
    threads: int = 1,
    linear: str = "auto",
    device: str = "auto",
    vary: str = ALL,
    along: str = "",
    save_models: bool = False,
    fresh: bool = False,
    retry_failed: bool = False,
    trust_remote_code: bool = False,
    time_limit: float | None = None,
    backwards: bool = False,
) -> PlannedGrid:
    """Every job of a benchmark, and those of them that have no record in `results`; nothing is trained or written.

    The options are those of `run`; backwards: jobs in the opposite order. Raises: CsebError.
    """
    from cseb.commands import hosts
    from cseb.experiment.grid import Grid
    from cseb.experiment.plan import plan
    from cseb.records.store import Store

    away = hosts.elsewhere(launcher, ray_address)
    where = hosts.device_of(device, away)
    if processes > 1 and launcher != "local":
        raise BadBenchmark(f"`processes` goes with `launcher` local, not with {launcher}")
    asked = str(workers)
    at_once = hosts.workers_of(asked, threads, where, jobs_per_gpu, away, processes)
    wanted = None if away and asked == "auto" else at_once
    host = hosts.launcher_of(launcher, wanted, ray_address, slurm, jobs_per_allocation, jobs_per_gpu or 1)
    jobs = plan(  # it may read or make a corpus, so wrong options come before
        benchmark,
        threads=threads,
        linear=one_of((AUTO, *LIBRARIES), linear, "`linear`"),
        device=where,
        processes=processes,
        trust_remote_code=trust_remote_code,
        vary=cast("Vary", one_of((ALL, *VARIED), vary, "`seed_scope`")),
        along=along,
    )
    folder = Path(results)
    models = folder / "models" if save_models else None
    ordered = jobs[::-1] if backwards else jobs
    grid = Grid.of(benchmark, ordered, Store(folder), at_once, fresh, retry_failed, models)
    return PlannedGrid(grid, host, models, time_limit, away)


def run(
    benchmark: str = "demo",
    *,
    on: str = "",
    methods: str | Sequence[str] = "",
    fractions: float | Sequence[float] = (),
    sizes: int | Sequence[int] = (),
    seeds: int | None = None,
    encoder: str = "",
    corpus: str = "",
    column: str = "",
    tasks: str | Sequence[str] = "",
    dev: str = "",
    data_dir: str | Path = "",
    steps: int | None = None,
    results: str | Path = "results",
    workers: int | str = "auto",
    threads: int = 1,
    linear: str = "auto",
    device: str = "auto",
    launcher: str = "local",
    vary: str = ALL,
    along: str = "",
    save_models: bool = False,
    fresh: bool = False,
    retry_failed: bool = False,
    time_limit: float | None = None,
    trust_remote_code: bool = False,
) -> Results:
    """Train and score every method, fraction and seed that has no record yet, as `cseb run` does.

    Each job leaves one record in `results`; a grid that was stopped goes on where it was. Settings that are given take
    the place of the benchmark's own. The same settings give the same records, from here or from the command line.
    In a script with more than one worker, call it under `if __name__ == "__main__":`.

    Args:
        benchmark: a name that `cseb show benchmarks` shows, or a YAML file.
        on: another benchmark, whose encoder, corpus, tasks and scale are taken in place of this one's.
        methods: names with any edits, such as ``["simcse", "micse+recipe(steps=500)"]``.
        fractions: of the corpus, each in (0, 1]; or `sizes`, numbers of sentences.
        sizes: see `fractions`.
        seeds: how many, counted from 0.
        encoder: a folder, a hub name, or one that comes with cseb: ``cseb-tiny``, ``cseb-mini``.
        corpus: a file with one sentence a line, a table, ``wikipedia``, ``wikipedia:COUNT`` or
            ``hub:OWNER/NAME/FILE``.
        column: the column of a table's sentences, or several and what they are: ``anchor=title,positive=body``.
        tasks: such as ``sts`` or ``["stsb", "sickr"]``.
        dev: the task that chooses the best checkpoint; ``none`` chooses none.
        data_dir: folder of task files in SentEval's layout.
        steps: optimiser steps of every method that trains.
        results: folder of records.
        workers: jobs at a time; ``auto`` is one for each core or GPU, 1 is this very process.
        threads: CPU threads of each job; part of what a record says.
        linear: library of the linear layers on a CPU: ``blas``, ``onednn``, or ``auto``, the faster one here.
        device: ``auto``, ``cpu`` or ``cuda``.
        launcher: ``local``, ``ray`` or ``slurm``.
        vary: what the seed decides: ``subset``, ``init``, ``order``, ``dropout``, or ``all``.
        along: tasks to follow during training.
        save_models: keep trained encoders in ``results/models``.
        fresh: run jobs again that have a record.
        retry_failed: run jobs again whose record says failed.
        time_limit: seconds a job may take before it is ended as hung.
        trust_remote_code: run Python code that comes with the encoder.

    Returns:
        The records of this grid. `Results.problems` says why a job left no record.

    Raises:
        CsebError: for whatever cannot be run, before anything trains.
        KeyboardInterrupt: if the run is stopped; finished jobs keep their records.

    Examples:
        >>> import cseb
        >>> grid = cseb.run(methods="simcse", sizes=64, seeds=1, corpus="wikipedia:100", steps=2, workers=1)
        >>> len(grid.records)
        1
        >>> sorted(grid.frame().checkpoint.unique())
        ['best', 'last']
    """
    from cseb.commands.results import Results
    from cseb.launchers.events import Broken, Event
    from cseb.records.record_file import Problem

    chosen = chosen_benchmark(
        benchmark,
        on=on,
        methods=methods,
        encoder=encoder,
        corpus=corpus,
        column=column,
        fractions=listed(fractions),
        sizes=listed(sizes),
        seeds=seeds,
        tasks=tasks,
        dev=dev,
        data_dir=str(data_dir),
        steps=steps,
    )
    planned = plan_grid(
        chosen,
        results,
        workers=workers,
        launcher=launcher,
        threads=threads,
        linear=linear,
        device=device,
        vary=vary,
        along=along,
        save_models=save_models,
        fresh=fresh,
        retry_failed=retry_failed,
        trust_remote_code=trust_remote_code,
        time_limit=time_limit,
    )
    broken: list[Problem] = []

    def hear(event: Event) -> None:
        if isinstance(event, Broken):
            broken.append(Problem(planned.grid.store.runs / f"{event.key}.json", event.reason))

    summary = planned.run(lambda _: nullcontext(hear))
    if summary.stopped:
        raise KeyboardInterrupt
    found = [planned.grid.store.find(job.key) for job in planned.grid.jobs]
    return Results(Path(results), tuple(one for one in found if one is not None), tuple(broken))
