"""Draw the records of a folder into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb import parameters
from cseb.commands.command_line import Call
from cseb.commands.results import Results, as_planned, benchmarks_of, query, results_of
from cseb.commands.screen import say
from cseb.errors import BadResults, one_of
from cseb.parameters import command, option
from cseb.text import plain

if TYPE_CHECKING:
    from cseb.analysis.study import StudyQuery
    from cseb.plots.style import Plot
    from cseb.records.record import Record

KINDS = ("curves", "seeds")


@command
def plot(
    results: Annotated[Results | str | Path, parameters.RESULTS] = "results",
    out: Annotated[str | Path, option("File to write: .png, .svg or .pdf.")] = "plot.png",
    *,
    kind: Annotated[str, option("Scores by sentences (curves), or every seed (seeds).", choices=KINDS)] = "curves",
    methods: Annotated[str | Sequence[str], parameters.SHOW_METHODS] = (),
    sizes: Annotated[str | float | Sequence[float], parameters.SHOW_SIZES] = (),
    tasks: Annotated[str | Sequence[str], parameters.SHOW_TASKS] = (),
    checkpoint: Annotated[str, option(parameters.CHECKPOINT_HELP, choices=("best", "last"))] = "",
) -> str:
    """Draw the records of one encoder and corpus into a file.

    Returns:
        The caption.

    Raises:
        BadResults: if the records cannot fill such a plot, or the file cannot be written.
    """
    from cseb.plots import style

    one_of(KINDS, kind, "`kind`")
    style.check(Path(out))
    from matplotlib import rc_context

    folder = results_of(results)
    records = list(folder.records)
    ask = query(methods, sizes, tasks, checkpoint)
    ask = as_planned(ask, records, benchmarks_of(folder.folder, records))
    with rc_context(style.SETTINGS):
        figure = _drawn(kind, records, ask)
        style.save(figure, Path(out))
    return figure.caption


def _drawn(kind: str, records: Sequence[Record], query: StudyQuery) -> Plot:
    """Return the plot of this kind. Raises: BadResults."""
    from cseb.analysis.comparable import is_untrained
    from cseb.analysis.stats import word_baselines
    from cseb.plots import scores
    from cseb.reports.layouts import few_shot

    trained = [record for record in records if not is_untrained(record)] or list(records)
    study = query.study(trained)
    if not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")
    table = few_shot(trained, (), query)
    if not any(cell.values for row in table.rows for cell in row.cells):
        raise BadResults("no run in these records has a score, so there is nothing to draw; cseb report says why")
    words = word_baselines(records, study.chosen(query.tasks), study.records)
    baselines = {plain(name.partition(":")[2]): score for name, score in words.items()}
    draw = scores.curves if kind == "curves" else scores.seeds
    return draw(table, baselines)


def print_caption(call: Call[str]) -> None:
    """Print the caption and where the plot is."""
    say(f"{call()}\nwritten to {call.settings.get('out', 'plot.png')}")
