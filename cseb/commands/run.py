"""Train and score a grid of methods, training set sizes and seeds."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cseb import parameters
from cseb.commands import hosts
from cseb.commands.command_line import Call, Quiet
from cseb.commands.hosts import MOST, MOST_PROCESSES
from cseb.commands.planned_grid import PlannedGrid, missing_inputs, run_stages
from cseb.commands.results import Results, joined
from cseb.commands.screen import say, say_folded, telling
from cseb.errors import BadBenchmark, BadData
from cseb.parameters import command, definitions, option
from cseb.progress import reading
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.experiment.benchmark import Benchmark
    from cseb.experiment.grid import Grid
    from cseb.launchers.job_runner import Event, Watch

Processes = Annotated[
    int, option("Processes that share each batch of a job (distributed training).", least=1, most=MOST_PROCESSES)
]
DryRun = Annotated[bool, option("List the jobs and store nothing.")]


@command
def run(
    benchmark: Annotated[str | Path, parameters.BENCHMARK] = "demo",
    *,
    methods: Annotated[str | Sequence[str], parameters.METHODS] = "",
    encoder: Annotated[str | Path, parameters.ENCODER] = "",
    corpus: Annotated[str | Path, parameters.CORPUS] = "",
    column: Annotated[str, parameters.COLUMN] = "",
    data_dir: Annotated[str | Path, parameters.DATA_DIR] = "",
    tasks: Annotated[str | Sequence[str], parameters.TASKS] = "",
    dev: Annotated[str | Path, parameters.DEV] = "",
    fractions: Annotated[str | float | Sequence[float], parameters.FRACTIONS] = (),
    sizes: Annotated[str | int | Sequence[int], parameters.SIZES] = (),
    seeds: Annotated[int | None, parameters.SEEDS] = None,
    steps: Annotated[int | None, parameters.STEPS] = None,
    tune: Annotated[bool, parameters.TUNE] = False,
    track: Annotated[
        str | Sequence[str], option("Tasks to score at every evaluation during training, such as geometry or sts.")
    ] = "",
    results: Annotated[str | Path, option("Folder of records.")] = "results",
    save_models: Annotated[bool, option("Save trained encoders in the folder models of `results`.")] = False,
    workers: Annotated[str | int, parameters.WORKERS] = "auto",
    jobs_per_gpu: Annotated[int | None, option("Jobs on each GPU at a time. By default 1.", least=1, most=MOST)] = None,
    launcher: Annotated[
        str,
        option(
            "Where jobs run: local, ray, ray:HOST:PORT (a Ray cluster), slurm, or slurm with options of sbatch such as "
            "slurm:partition=cpu,time=120,cpus-per-task=8."
        ),
    ] = "local",
    threads: Annotated[int, parameters.THREADS] = 1,
    linear: Annotated[str, parameters.LINEAR] = "auto",
    device: Annotated[str, parameters.DEVICE] = "auto",
    deterministic: Annotated[bool, parameters.DETERMINISTIC] = False,
    rerun: Annotated[
        str, option("Run jobs again that failed, or all that have a record.", choices=("failed", "all"))
    ] = "",
    trust_remote_code: Annotated[bool, parameters.TRUST_REMOTE_CODE] = False,
) -> Results:
    """Train and score every method, training set size and seed that has no record yet.

    Options replace the settings of the benchmark. Each job writes one record. Run the command again to continue after
    an interruption.

    Returns:
        The records of this grid; `Results.problems` says why a job has no record. A script with more than one worker
        calls it under ``if __name__ == "__main__":``.

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
    settings = dict(locals())
    from cseb.launchers.job_runner import Broken
    from cseb.records.store import Problem

    planned = planned_run(**settings)
    broken: list[Problem] = []

    def hear(event: Event) -> None:
        if isinstance(event, Broken):
            broken.append(Problem(planned.grid.store.runs / f"{event.key}.json", event.reason))

    planned, summary = run_stages(planned, lambda _: nullcontext(hear))
    if summary.stopped:
        raise KeyboardInterrupt
    records = [record for job in planned.grid.jobs if (record := planned.grid.store.find(job.key)) is not None]
    return Results.of(Path(results), records, broken)


def planned_run(benchmark: str | Path = "demo", **given: Any) -> PlannedGrid:
    """Return the grid that `run` runs with these settings. Raises: CsebError."""
    return plan_grid(chosen_benchmark(str(benchmark), **given), **given)


def chosen_benchmark(benchmark: str = "demo", *, tune: bool = False, **settings: object) -> Benchmark:
    """Return a benchmark by name or file, with these settings in place of its fields of the same names; see `run`.

    Settings that are no fields, empty or None change nothing. Raises: CsebError.
    """
    from cseb.experiment import benchmark as benchmarks

    if not isinstance(settings.get("corpus", ""), str | Path):
        raise BadData("`corpus` is no name; write a list of sentences into a file, one per line, and name the file")
    loaded = benchmarks.load(benchmark)
    fields = {name: value for name, value in settings.items() if name in type(loaded).model_fields}
    defaults = {name: each.default for name, each in definitions(run).items()}
    for name, value in fields.items():
        if isinstance(value, Sequence) and not isinstance(value, str) and not value and value != defaults.get(name):
            raise BadBenchmark(f"`{name}` is empty; name at least one, or leave it out")
    values = {name: joined(value) if isinstance(value, Iterable) else value for name, value in fields.items()}
    if tune and loaded.tune is None:  # a search that the file states stays
        values["tune"] = {}
    return benchmarks.override(loaded, **values)


def plan_grid(
    benchmark: Benchmark,
    results: str | Path = "results",
    *,
    processes: int = 1,
    done: frozenset[str] = frozenset(),
    dry_run: bool = False,
    **given: Any,
) -> PlannedGrid:
    """Plan every job of a benchmark, and find those that have no record; nothing is trained or written.

    processes: how many share each job. done: keys of jobs that this command has run already, which `rerun` does not
    repeat. dry_run: whether the jobs are only listed, so that the device need not exist. given: further options of
    `run`. Raises: CsebError.
    """
    from cseb.experiment.grid import Grid
    from cseb.experiment.plan import plan
    from cseb.records.store import Store

    options = SimpleNamespace(**{name: each.default for name, each in definitions(run).items()} | given)
    launcher, _, details = options.launcher.partition(":")
    away = hosts.elsewhere(launcher, details)
    if processes > 1 and launcher != "local":
        submit = {
            "slurm": f"sbatch --gpus={processes} --wrap 'cseb run ... --processes {processes} --device cuda'",
            "ray": f"ray job submit --entrypoint-num-gpus={processes} -- cseb run ... --processes {processes}",
        }.get(launcher, "the command without `launcher`")
        raise BadBenchmark(
            f"`processes` {processes} shares each batch on one machine, `launcher` {launcher} spreads jobs; "
            f"take one machine for the whole command: {submit}"
        )
    device = hosts.device_of(options.device, away or (dry_run and options.device == "cuda"))
    workers = hosts.workers_of(str(options.workers), options.threads, device, options.jobs_per_gpu, away, processes)
    at_once = None if away and options.workers == "auto" else workers
    host = hosts.launcher_of(launcher, at_once, details, options.jobs_per_gpu or 1)
    store = Store(Path(results))
    records = {record.key: record for record in (store.load()[0] if store.exists() else [])}
    wanted_again = {"failed": {"failed"}, "all": {"failed", "done"}}.get(options.rerun, set())
    again = {key for key, record in records.items() if record.status in wanted_again} - done
    jobs = plan(  # reads the corpus, so wrong options are refused before
        benchmark,
        records={key: record for key, record in records.items() if key not in again},
        threads=options.threads,
        linear=options.linear,
        deterministic=options.deterministic,
        device=device,
        processes=processes,
        trust_remote_code=options.trust_remote_code,
        along=joined(options.track),
    )
    models = Path(results) / "models" if options.save_models else None
    grid = Grid.of(benchmark, jobs, store, workers, records, again, models)
    done |= {job.key for job in jobs}
    settings = {"processes": processes, "done": done, **given}
    trials = all(job.purpose == "tuning" for job in jobs)
    following = partial(plan_grid, benchmark, results, **settings) if trials else None
    return PlannedGrid(grid, host, models, away, following)


def run_on_screen(
    call: Call[Results], *, processes: Processes = 1, dry_run: DryRun = False, quiet: Quiet = False
) -> None:
    """Run the grid and show how far it is; exit with 1 if a job failed."""
    from cseb.commands.progress import ending, listing, outlook
    from cseb.launchers import spawn_ranks as ranks
    from cseb.launchers.job_runner import first
    from cseb.tasks.names import interpretations

    started = ranks.started()
    if processes > 1 and started == 1 and not dry_run:
        raise typer.Exit(ranks.start(processes, sys.argv[1:]))
    if processes > 1 and started not in (1, processes):
        raise BadBenchmark(f"`processes` is {processes}, but {started} processes were started; leave the option out")
    quiet = quiet or not first()
    with telling(quiet), nullcontext() if quiet else reading(partial(say, err=True)):
        settings = call.checked()
        chosen = chosen_benchmark(**settings)
        missing, table = missing_inputs(chosen) if dry_run else ([], [])
        for line in [] if quiet else table:
            say_folded(line, err=True)
        try:
            planned = planned_run(processes=max(started, processes), dry_run=dry_run, **settings)
        except BadData:
            if missing in ([], [chosen.encoder]):  # the error says why it cannot be downloaded
                raise
            names = ", ".join(missing)
            raise BadData(
                f"{quantity(len(missing), 'input')} of the run cannot be read: {names}; get them as listed, then repeat"
            ) from None
    for line in [] if quiet else interpretations(",".join(filter(None, (chosen.tasks, chosen.dev)))):
        say(line, err=True)
    if dry_run:
        with telling(quiet):
            planned.grid.check_encoder()
        say_folded(listing(planned.grid))
        return

    def begin(grid: Grid) -> AbstractContextManager[Watch]:
        """Print how long the grid will take once nothing is refused, and return the display."""
        for line in [] if quiet or not grid.todo else outlook(grid):
            say(line, err=True)
        return watching(grid, quiet)

    with telling(quiet):
        planned, summary = run_stages(planned, begin)
    if not quiet or summary.stopped:
        with suppress(OSError):  # a full disk or a closed pipe; the records are there
            say(ending(planned.grid, summary, call.settings.get("rerun") == "all"), err=quiet)
    if not first() and not summary.stopped:
        return  # the first process reports; it still scores, and a failure now would end it
    raise typer.Exit(summary.exit_code or (1 if planned.grid.failed else 0))


def watching(grid: Grid, quiet: bool) -> AbstractContextManager[Watch]:
    """Return what shows the events of a grid while it runs."""
    from cseb.commands import progress as display
    from cseb.experiment.grid import Planned

    jobs = {job.key: Planned(job.label, job.fraction, job.seed) for job in grid.jobs}
    failed = grid.failed
    done = set(jobs) - {job.key for job in grid.todo} - failed
    board = display.Board(jobs, done, grid.seconds, grid.workers, failed=failed)
    return display.watching(board, quiet=quiet)
