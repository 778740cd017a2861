"""The command that trains a grid again and says what has moved: by our code, by drift, or from the papers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import BenchmarkName, DataDir, Device, Linear, Quiet, Threads, Workers
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.errors import BadResults, one_of
from cseb.text import quantity


def check(
    benchmark: BenchmarkName,
    *,
    update: Annotated[bool, typer.Option("--update", help="Store the new records as the expected ones.")] = False,
    machine: Annotated[
        str, typer.Option(help="With --update: store them for machines like this one, beside the others.")
    ] = "",
    calibrate: Annotated[
        bool, typer.Option("--calibrate", help="Train everything six times and store the repeatability limit.")
    ] = False,
    against: Annotated[str, typer.Option(help="published: compare the means with those of the papers.")] = "",
    results: Annotated[Path | None, typer.Option(help="Compare these records; train nothing.")] = None,
    format: Annotated[str, typer.Option("--format", "-f", help="terminal, github or junit.")] = "terminal",
    junit: Annotated[Path | None, typer.Option(help="Also write a JUnit file.")] = None,
    data_dir: DataDir = "",
    workers: Workers = "auto",
    threads: Threads = 1,
    linear: Linear = "auto",
    device: Device = "auto",
    quiet: Quiet = False,
) -> None:
    """Run a benchmark again and compare it with its expected records; exit code 1 if a number has changed.

    Three separate questions. Code: on the machine class of the expected records every bit comes back, or the first
    field that differs is named. Drift: averages stay within the repeatability limit that --calibrate measured. Paper,
    with --against published: a published number is inside our interval, outside, or not comparable. Where data sets
    of the benchmark are not here, nothing is checked and the exit code is 0.
    """
    from cseb.api.check import FreshRun, Stopped
    from cseb.commands.hosts import device_of
    from cseb.commands.run import watching
    from cseb.regression import check_results as said

    render = said.FORMATS[one_of(tuple(said.FORMATS), format, "--format")]
    one_of(("", "published"), against, "--against")
    if machine and not update:
        raise BadResults("--machine says for which machines records are stored; it goes with --update")
    hushed = quiet or format == "junit"  # one document on stdout
    fresh = FreshRun.of(
        benchmark,
        data_dir=data_dir,
        workers=workers,
        threads=threads,
        linear=linear,
        device=device_of(device),
        watching=lambda grid: watching(grid, hushed),
        results=results,
    )
    try:
        with telling(quiet):  # but while jobs run, which have a display of their own
            if calibrate:
                measured = fresh.calibrate(lambda done, of: say(f"repeat {done} of {of} done", err=True))
            elif update:
                folder, written, removed, why = fresh.update(machine)
            else:
                found = fresh.against_papers() if against else fresh.compared()
    except Stopped as stopped:  # the display has said why
        raise typer.Exit(stopped.exit_code) from None
    if calibrate:
        for method, deviation in measured.sd.items():
            say(f"{method}: sd {deviation:.4f} points, limit for one cell ±{measured.limit(method):.4f}")
        return
    if update:
        say(f"{quantity(written, 'record')} written to {folder}, {removed} removed")
        if why:
            say(f"repeatability was measured elsewhere ({why}); measure it again with --calibrate")
        return
    say(render(found), nl=False)
    if junit is not None:
        _write(junit, said.junit(found))
    raise typer.Exit(1 if any(one.ok is False for one in found) else 0)


def _write(path: Path, text: str) -> None:
    from cseb.data.files import write_whole

    try:
        write_whole(path, [text.encode(errors="backslashreplace")])
    except OSError as error:
        raise BadResults(f"{path} cannot be written: {error.strerror}") from None
