"""The command that draws a folder of records."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import (
    Checkpoint,
    Fractions,
    Hushed,
    Methods,
    Mixed,
    Named,
    Results,
    Sizes,
    Tasks,
    folder_of,
    numbers,
)
from cseb.commands.screen import say
from cseb.commands.waiting import telling


def plot(
    results: Results = None,
    *,
    named: Named = None,
    kind: Annotated[
        str,
        typer.Option(
            help="curves: score by sentences; gain: over --baseline; profile: how many runs and tasks gain how much; "
            "seeds: each one; training: loss and dev points; sensitivity: score by an option; geometry: alignment and "
            "uniformity; cd: mean ranks over corpora, at least 8."
        ),
    ] = "curves",
    out: Annotated[Path, typer.Option(help="File to write: .png, .svg or .pdf.")] = Path("plot.png"),
    methods: Methods = "",
    fractions: Fractions = "",
    sizes: Sizes = "",
    tasks: Tasks = "",
    select: Checkpoint = "",
    spread: Annotated[str, typer.Option(help="Bands: std, ci95 (Student's t), sem, or range.")] = "std",
    baseline: Annotated[
        str,
        typer.Option(
            "--baseline",
            "--full",
            help="For --kind gain and profile: the method that others are compared with; a profile starts from the "
            "untrained encoder where cseb eval has scored it.",
        ),
    ] = "",
    option: Annotated[str, typer.Option(help="For --kind sensitivity: such as infonce.temperature.")] = "",
    mixed: Mixed = False,
    quiet: Hushed = False,
) -> None:
    """Draw the records of one encoder and corpus into a file, and print its caption."""
    from cseb.api.plot import plot as draw

    with telling(quiet):
        caption = draw(
            folder_of(results, named),
            out,
            kind=kind,
            methods=methods,
            fractions=numbers(fractions, float, "--fractions"),
            sizes=numbers(sizes, int, "--sizes"),
            tasks=tasks,
            checkpoint=select,
            spread=spread,
            baseline=baseline,
            option=option,
            mixed=mixed,
        )
    say(f"{caption}\nwritten to {out}")
