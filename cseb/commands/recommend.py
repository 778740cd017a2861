"""The command that says which method to use for one's own sentences."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.options import DataDir, Device, Linear, Quiet, Threads, Trust, Workers
from cseb.commands.screen import say
from cseb.commands.waiting import telling

if TYPE_CHECKING:
    from cseb.experiment.grid import Grid
    from cseb.launchers.events import Watch

INTERRUPTED = 130


def recommend(
    corpus: Annotated[str, typer.Argument(help="A file, wikipedia, microworld:COUNT, or hub:OWNER/NAME/FILE.")],
    *,
    encoder: Annotated[
        str, typer.Option(help="A folder, cseb-tiny, cseb-mini, microworld, or a hub name.")
    ] = "cseb-tiny",
    budget: Annotated[float, typer.Option(help="Minutes for everything.")] = 30,
    judge: Annotated[str, typer.Option(help="Your file that decides, best of all rated pairs.")] = "",
    tasks: Annotated[
        str, typer.Option(help="Tasks of one protocol that decide instead, such as snli, or stsb,sickr.")
    ] = "",
    teacher: Annotated[str, typer.Option(help="A better encoder, agreement with which decides instead.")] = "",
    ask: Annotated[int, typer.Option(help="So many questions to you decide instead, such as 60.")] = 0,
    methods: Annotated[str, typer.Option(help="Those that race, such as simcse,micse; quote it.")] = "",
    steps: Annotated[int, typer.Option(min=1, help="Optimiser steps of every training.")] = 100,
    out: Annotated[Path | None, typer.Option(help="Folder for the model, trained on all sentences.")] = None,
    push: Annotated[str, typer.Option(help="Push the folder of --out to the hub.", metavar="OWNER/NAME")] = "",
    results: Annotated[Path | None, typer.Option(help="Folder of records; my.recommend beside my.txt.")] = None,
    data_dir: DataDir = "",
    column: Annotated[str, typer.Option(help="Column of a table's sentences, or anchor=title,positive=body.")] = "",
    workers: Workers = "auto",
    threads: Threads = 1,
    linear: Linear = "auto",
    device: Device = "auto",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would run and how long, store nothing.")] = False,
    quiet: Quiet = False,
    trust_remote_code: Trust = False,
) -> None:
    """Race methods on your own sentences: which one to use, how much it helps, and the model.

    Every run is an ordinary record; stopped, the same command goes on.
    """
    from cseb.advice.options import Options
    from cseb.api.recommend import advise, forecast
    from cseb.commands.ask import ask as asked

    options = Options(
        corpus=corpus,
        encoder=encoder,
        budget=budget,
        judge=judge,
        tasks=tasks,
        teacher=teacher,
        ask=ask,
        methods=methods,
        steps=steps,
        out=out,
        push=push,
        results=results,
        data_dir=data_dir,
        column=column,
        workers=workers,
        threads=threads,
        linear=linear,
        device=device,
        trust_remote_code=trust_remote_code,
    )

    def told(line: str) -> None:
        if not quiet:
            say(line, err=True)

    if dry_run:
        with telling(quiet):
            lines = forecast(options, told)
        say("\n".join(lines))
        return
    with telling(quiet):
        found = advise(options, told, lambda grid: _watching(grid, quiet), asked)
    say(found.verdict())
    if not quiet:
        say(f"\n{found.table()}")
        say(f"records: {options.folder}; cseb report, compare and verify read them")
        if out is not None and not found.stopped:
            made = f"{out}, {found.chosen} on all distinct sentences"
            say(f"model: {'none before there is a verdict' if found.estimate is None else made}")
    if found.stopped:
        raise typer.Exit(INTERRUPTED)


def _watching(grid: Grid, quiet: bool) -> AbstractContextManager[Watch]:
    from cseb.commands.run import watching

    return watching(grid, quiet)
