"""Draw the records of a folder into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cseb.commands.command_line import Call
from cseb.commands.report import query
from cseb.commands.results import Results, results_of
from cseb.commands.screen import say
from cseb.parameters import (
    CHECKPOINT_HELP,
    MIXED,
    SHOW_FRACTIONS,
    SHOW_METHODS,
    SHOW_SIZES,
    SHOW_TASKS,
    SPREAD,
    argument,
    command,
    option,
)

KINDS = ("curves", "gain", "seeds", "training", "sensitivity", "geometry")


@command
def plot(
    results: Annotated[Results | str | Path, argument("Folder of records.")] = "results",
    out: Annotated[str | Path, option("File to write: .png, .svg or .pdf.")] = "plot.png",
    *,
    kind: Annotated[
        str,
        option(
            "Scores by sentences (curves), difference from `baseline` (gain), every seed (seeds), loss and dev score "
            "(training), scores by `option` (sensitivity), alignment and uniformity (geometry).",
            choices=KINDS,
        ),
    ] = "curves",
    methods: Annotated[str | Sequence[str], SHOW_METHODS] = (),
    fractions: Annotated[str | float | Sequence[float], SHOW_FRACTIONS] = (),
    sizes: Annotated[str | int | Sequence[int], SHOW_SIZES] = (),
    tasks: Annotated[str | Sequence[str], SHOW_TASKS] = (),
    checkpoint: Annotated[str, option(CHECKPOINT_HELP, choices=("best", "last"))] = "",
    spread: Annotated[str, SPREAD] = "std",
    baseline: Annotated[str, option("For gain: the method that others are compared with.")] = "",
    option: Annotated[str, option("For sensitivity: an option of a part, such as infonce.temperature.")] = "",
    mixed: Annotated[bool, MIXED] = False,
) -> str:
    """Draw the records of one encoder and corpus into a file.

    Returns:
        The caption.

    Raises:
        BadResults: if the records cannot fill such a plot, or the file cannot be written.
    """
    from cseb.plots import style

    style.check(Path(out))
    from matplotlib import rc_context

    from cseb.analysis.planned import as_planned, planned_of
    from cseb.plots.draw import drawn

    asked = query(methods, fractions, sizes, tasks, checkpoint, spread=spread, mixed=mixed)
    folder = results_of(results)
    records = list(folder.records)
    asked = as_planned(asked, records, planned_of(folder.folder, records))
    with rc_context(style.SETTINGS):
        figure = drawn(kind, records, asked, baseline, option)
        style.save(figure, Path(out))
    return figure.caption


def print_caption(call: Call[str]) -> None:
    """Print the caption and where the plot is."""
    say(f"{call()}\nwritten to {call.settings.get('out', 'plot.png')}")
