"""Run a benchmark again and compare it with its expected records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.command_line import Call, Quiet
from cseb.commands.screen import say
from cseb.parameters import BENCHMARK, DATA_DIR, DEVICE, LINEAR, THREADS, WORKERS, command, option
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.regression.check_results import CheckResult


@command
def check(
    benchmark: Annotated[str | Path, BENCHMARK],
    *,
    against: Annotated[str, option("Compare the means with those of the papers.", choices=("published",))] = "",
    results: Annotated[str | Path, option("Folder of records to compare instead of training.")] = "",
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    workers: Annotated[str | int, WORKERS] = "auto",
    threads: Annotated[int, THREADS] = 1,
    linear: Annotated[str, LINEAR] = "auto",
    device: Annotated[str, DEVICE] = "auto",
) -> list[CheckResult]:
    """Run a benchmark again and compare it with its expected records. The exit code is 1 if a number has changed.

    Three separate questions. Code: on the machine class of the expected records every bit is the same, or the first
    field that differs is named. Drift: averages stay within the measured limit of the benchmark. Paper, with `against`
    published: a published number is inside our interval, outside, or not comparable. Where data of the benchmark are
    missing, nothing is checked.

    Returns:
        One result for each cell and question.

    Raises:
        CsebError: if the benchmark cannot be run, or nothing is expected.
    """
    from cseb.commands.fresh_run import FreshRun

    given = dict(locals())
    given.pop("FreshRun")
    return FreshRun.of(**given).results()


def print_checks(
    call: Call[list[CheckResult]],
    *,
    update: Annotated[bool, option("Store the new records as the expected ones.")] = False,
    quiet: Quiet = False,
) -> None:
    """Print what has changed, and exit with 1 if something has; or store the new records."""
    from cseb.commands.fresh_run import FreshRun, Stopped
    from cseb.commands.run import watching
    from cseb.commands.waiting import telling
    from cseb.regression.check_results import terminal

    try:
        with telling(quiet):  # but while jobs run, which have a display of their own
            fresh = FreshRun.of(**call.checked(), watching=lambda grid: watching(grid, quiet))
            if update:
                folder, written, removed, why = fresh.update()
            else:
                results = fresh.results()
    except Stopped as stopped:  # the display has said why
        raise typer.Exit(stopped.exit_code) from None
    if update:
        say(f"{quantity(written, 'record')} written to {folder}, {removed} removed")
        if why:
            say(f"the limits were measured on another machine: {why}")
        return
    say(terminal(results), nl=False)
    raise typer.Exit(1 if any(result.ok is False for result in results) else 0)
