"""Draw the records of a folder into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from cseb.commands.arguments import query, with_detail
from cseb.commands.command_line import Call
from cseb.commands.results import Results, results_of
from cseb.commands.screen import say
from cseb.errors import one_of
from cseb.parameters import (
    CHECKPOINT_HELP,
    RESULTS,
    SHOW_METHODS,
    SHOW_SIZES,
    SHOW_TASKS,
    command,
    option,
)

KINDS = ("curves", "gain", "seeds", "training", "sensitivity", "geometry")
DETAILS = {"gain": "METHOD", "sensitivity": "PART.OPTION"}


@command
def plot(
    results: Annotated[Results | str | Path, RESULTS] = "results",
    out: Annotated[str | Path, option("File to write: .png, .svg or .pdf.")] = "plot.png",
    *,
    kind: Annotated[
        str,
        option(
            "Scores by sentences (curves), differences from a method (gain:simcse), every seed (seeds), loss and dev "
            "score (training), scores by an option (sensitivity:infonce.temperature), alignment and uniformity "
            "(geometry)."
        ),
    ] = "curves",
    methods: Annotated[str | Sequence[str], SHOW_METHODS] = (),
    sizes: Annotated[str | float | Sequence[float], SHOW_SIZES] = (),
    tasks: Annotated[str | Sequence[str], SHOW_TASKS] = (),
    checkpoint: Annotated[str, option(CHECKPOINT_HELP, choices=("best", "last"))] = "",
) -> str:
    """Draw the records of one encoder and corpus into a file.

    Returns:
        The caption.

    Raises:
        BadResults: if the records cannot fill such a plot, or the file cannot be written.
    """
    from cseb.plots import style

    name, detail = with_detail(kind, DETAILS, "kind")
    one_of(KINDS, name, "`kind`")
    style.check(Path(out))
    from matplotlib import rc_context

    from cseb.analysis.planned import as_planned, planned_of
    from cseb.plots.draw import drawn

    folder = results_of(results)
    records = list(folder.records)
    ask = query(methods, sizes, tasks, checkpoint)
    ask = as_planned(ask, records, planned_of(folder.folder, records))
    with rc_context(style.SETTINGS):
        figure = drawn(name, records, ask, detail)
        style.save(figure, Path(out))
    return figure.caption


def print_caption(call: Call[str]) -> None:
    """Print the caption and where the plot is."""
    say(f"{call()}\nwritten to {call.settings.get('out', 'plot.png')}")
