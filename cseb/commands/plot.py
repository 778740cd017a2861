"""Draw the records of a folder into a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

from cseb import parameters
from cseb.commands.command_line import Call
from cseb.commands.results import Results, as_planned, benchmarks_of, query, results_of, with_detail
from cseb.commands.screen import say
from cseb.errors import BadResults, one_of
from cseb.parameters import command, option
from cseb.text import plain

if TYPE_CHECKING:
    from cseb.analysis.study import StudyQuery
    from cseb.plots.style import Plot
    from cseb.records.record import Record, Select

KINDS = ("curves", "gain", "seeds", "training", "sensitivity", "geometry")
DETAILS = {"gain": "METHOD", "sensitivity": "PART.OPTION"}


@command
def plot(
    results: Annotated[Results | str | Path, parameters.RESULTS] = "results",
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

    name, detail = with_detail(kind, DETAILS, "kind")
    one_of(KINDS, name, "`kind`")
    style.check(Path(out))
    from matplotlib import rc_context

    folder = results_of(results)
    records = list(folder.records)
    ask = query(methods, sizes, tasks, checkpoint)
    ask = as_planned(ask, records, benchmarks_of(folder.folder, records))
    with rc_context(style.SETTINGS):
        figure = _drawn(name, records, ask, detail)
        style.save(figure, Path(out))
    return figure.caption


def _drawn(kind: str, records: Sequence[Record], query: StudyQuery, detail: str) -> Plot:
    """Return the plot of this kind. detail: baseline of a gain, option of a sensitivity plot. Raises: BadResults."""
    from cseb.analysis.comparable import is_untrained
    from cseb.analysis.stats import word_baselines
    from cseb.methods.grammar import labels
    from cseb.plots import runs, scores
    from cseb.reports import layouts
    from cseb.reports.layouts import varied

    trained = [record for record in records if not is_untrained(record)] or list(records)
    by_key = {record.key: record for record in trained}
    study = query.study(trained)
    if kind in ("curves", "gain", "seeds", "sensitivity") and not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")
    tasks = study.chosen(query.tasks)
    baselines = {plain(name.partition(":")[2]): score for name, score in word_baselines(records, tasks).items()}
    match kind:
        case "curves":
            return scores.curves(layouts.few_shot(trained, (), query), baselines)
        case "gain":
            base = detail if detail in study.methods else labels(detail)[0] if detail else study.methods[0]
            return scores.gain(layouts.ablation(trained, (), query, full=base), base)
        case "seeds":
            return scores.seeds(layouts.few_shot(trained, (), query), baselines)
        case "training":
            return runs.training(study, by_key)
        case "sensitivity":
            table = layouts.sensitivity(trained, (), query, option=detail)
            return scores.sensitivity(table, varied(study, detail).numbers)
    return runs.geometry(study, by_key, tasks, cast("Select", query.select))


def print_caption(call: Call[str]) -> None:
    """Print the caption and where the plot is."""
    say(f"{call()}\nwritten to {call.settings.get('out', 'plot.png')}")
