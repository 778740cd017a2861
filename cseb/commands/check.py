"""The command that trains a grid again and says what has moved: by our code, by drift, or from the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import BenchmarkName, DataDir, Device, Linear, Quiet, Threads, Workers
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.errors import one_of
from cseb.text import quantity


def check(
    benchmark: BenchmarkName,
    *,
    update: Annotated[bool, typer.Option("--update", help="Store the new records as the expected ones.")] = False,
    against: Annotated[str, typer.Option(help="published: compare the means with those of the papers.")] = "",
    results: Annotated[Path | None, typer.Option(help="Compare these records; train nothing.")] = None,
    data_dir: DataDir = "",
    workers: Workers = "auto",
    threads: Threads = 1,
    linear: Linear = "auto",
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Run a benchmark again and compare it with its expected records; exit code 1 if a number has changed.

    Three separate questions. Code: on the machine class of the expected records every bit comes back, or the first
    field that differs is named. Drift: averages stay within the measured limit of the benchmark. Paper,
    with --against published: a published number is inside our interval, outside, or not comparable. Where data sets
    of the benchmark are not here, nothing is checked and the exit code is 0.
    """
    from cseb.api.check import FreshRun, Stopped
    from cseb.commands.hosts import device_of
    from cseb.commands.run import watching
    from cseb.regression.check_results import terminal

    one_of(("", "published"), against, "--against")
    fresh = FreshRun.of(
        benchmark,
        data_dir=data_dir,
        workers=workers,
        threads=threads,
        linear=linear,
        device=device_of(device),
        watching=lambda grid: watching(grid, quiet),
        results=results,
    )
    try:
        with telling(quiet):  # but while jobs run, which have a display of their own
            if update:
                folder, written, removed, why = fresh.update()
            else:
                found = fresh.against_papers() if against else fresh.compared()
    except Stopped as stopped:  # the display has said why
        raise typer.Exit(stopped.exit_code) from None
    if update:
        say(f"{quantity(written, 'record')} written to {folder}, {removed} removed")
        if why:
            say(f"the limits were measured on another machine: {why}")
        return
    say(terminal(found), nl=False)
    raise typer.Exit(1 if any(one.ok is False for one in found) else 0)
