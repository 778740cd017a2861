"""Run a benchmark again and compare it with its expected records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.errors import CsebError
from cseb.parameters import BENCHMARK, DATA_DIR, WORKERS, command, option
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.experiment.benchmark import Benchmark
    from cseb.experiment.grid import Grid
    from cseb.launchers.job_runner import Summary, Watch
    from cseb.records.record import Record
    from cseb.records.store import Store
    from cseb.regression.comparison import CheckResult

Watching = Callable[["Grid"], AbstractContextManager["Watch"]]


class Stopped(CsebError):
    """A run that was interrupted, so that nothing was compared."""

    def __init__(self, summary: Summary) -> None:
        super().__init__("the run was interrupted, so nothing was compared")
        self.exit_code = summary.exit_code


@command
def check(
    benchmark: Annotated[str | Path, BENCHMARK],
    *,
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    workers: Annotated[str | int, WORKERS] = "auto",
) -> list[CheckResult]:
    """Run a benchmark again on the CPU and compare it with its expected records.

    The exit code is 1 if a number has changed.

    Two separate questions. Code: on the machine class of the expected records every bit is the same, or the first
    field that differs is named. Drift: averages stay within the tolerance of the benchmark. Where data of the
    benchmark are missing, nothing is checked.

    Returns:
        One result for each cell and question.

    Raises:
        CsebError: if the benchmark cannot be run, or nothing is expected.
    """
    return compared(benchmark, data_dir, workers=workers)


def print_checks(
    call: Call[list[CheckResult]],
    *,
    update: Annotated[bool, option("Store the new records as the expected ones.")] = False,
) -> None:
    """Print what has changed, and exit with 1 if something has; or store the new records."""
    from cseb.commands.run import watching
    from cseb.regression.comparison import terminal

    settings = {**call.checked(), "watching": lambda grid: watching(grid, quiet=False)}
    try:
        if update:
            folder, written, removed = call.of(updated, **settings)
            say(f"{quantity(written, 'record')} written to {folder}, {removed} removed")
            return
        results = call.of(compared, **settings)
    except Stopped as stopped:  # the display has said why
        raise typer.Exit(stopped.exit_code) from None
    say(terminal(results), nl=False)
    raise typer.Exit(1 if any(result.ok is False for result in results) else 0)


def compared(benchmark: str | Path, data_dir: str | Path = "", **options: Any) -> list[CheckResult]:
    """Return the results of `check`; the options are those of `trained`."""
    from cseb.commands.planned_grid import inputs
    from cseb.regression.comparison import CheckResult
    from cseb.regression.expected import against_expected, expected_records

    cells, name = cells_of(benchmark, data_dir), str(benchmark)
    if missing := [row for row in inputs(cells) if row[2] and row[3] == "no"]:  # data sets without any file here
        place = f"below {cells.data_dir}" if cells.data_dir else "in the caches"
        text = f"skipped: no data: {', '.join(row[1] for row in missing)} {place}; {missing[0][4]}"
        return [CheckResult(question="code", cell="all", ok=None, text=text)]
    expected = expected_store(benchmark, cells)
    expected_records(expected, name)  # raises before anything is trained
    with trained(cells, **options) as store:
        return against_expected(cells.tolerance, store, reported(store), expected, name)


def updated(benchmark: str | Path, data_dir: str | Path = "", **options: Any) -> tuple[Path, int, int]:
    """Make new records the expected ones; return their folder, how many were written and removed. Raises: CsebError."""
    from cseb.regression.expected import update

    cells = cells_of(benchmark, data_dir)
    expected = expected_store(benchmark, cells)
    with trained(cells, **options) as store:
        return expected.folder, *update(store, reported(store), expected)


def cells_of(benchmark: str | Path, data_dir: str | Path = "") -> Benchmark:
    """Return a benchmark with the cells to check. Raises: BadBenchmark."""
    from cseb.experiment import benchmark as benchmarks

    return benchmarks.override(benchmarks.cells_to_check(benchmarks.load(str(benchmark))), data_dir=str(data_dir))


def expected_store(benchmark: str | Path, cells: Benchmark) -> Store:
    """Return the folder of the expected records."""
    from cseb.experiment.benchmark import expected
    from cseb.records.store import Store

    return Store(expected(str(benchmark), cells.name))


@contextmanager
def trained(cells: Benchmark, watching: Watching | None = None, **options: Any) -> Iterator[Store]:
    """Run a benchmark in a temporary folder. options: further ones of `run`. Raises: Stopped if it is interrupted."""
    from cseb.commands.planned_grid import run_stages
    from cseb.commands.run import plan_grid

    with TemporaryDirectory(prefix="cseb-check-") as folder:
        planned, summary = run_stages(plan_grid(cells, folder, device="cpu", **options), watching)
        if summary.stopped or summary.refused:
            raise Stopped(summary)
        yield planned.grid.store


def reported(store: Store) -> list[Record]:
    """Return the records of a run, without trials of tuning."""
    return [record for record in store.load()[0] if record.purpose == "reported"]
