"""The command that draws a folder of records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cseb.cli.report import Checkpoint, Fractions, Methods, Mixed, Results, Sizes, Tasks, asked, settled
from cseb.errors import BadResults, one_of

if TYPE_CHECKING:
    from cseb.plots.style import Plot
    from cseb.results.record import Record, Select
    from cseb.results.tables import Ask

KINDS = ("curves", "gain", "geometry", "training", "seeds", "sensitivity")


def plot(
    results: Results = Path("results"),
    *,
    kind: Annotated[
        str,
        typer.Option(
            help="curves: score by sentences; gain: over --full; seeds: each one; training: loss and dev points; "
            "sensitivity: score by an option; geometry: alignment and uniformity."
        ),
    ] = "curves",
    out: Annotated[Path, typer.Option(help="File to write: .png, .svg or .pdf.")] = Path("plot.png"),
    methods: Methods = "",
    fractions: Fractions = "",
    sizes: Sizes = "",
    tasks: Tasks = "",
    select: Checkpoint = "",
    spread: Annotated[str, typer.Option(help="Bands: std, ci95 (Student's t), sem, or range.")] = "std",
    full: Annotated[str, typer.Option(help="For --kind gain: the method that others are compared with.")] = "",
    option: Annotated[str, typer.Option(help="For --kind sensitivity: such as infonce.temperature.")] = "",
    mixed: Mixed = False,
) -> None:
    """Draw the records of one encoder and corpus into a file, and print its caption."""
    from cseb.plots import style

    one_of(KINDS, kind, "--kind")
    one_of(("std", "ci95", "sem", "range"), spread, "--spread")
    one_of(("", "best", "last"), select, "--select")
    style.check(out)
    from matplotlib import rc_context

    from cseb.results.store import Store

    ask = asked(methods, fractions, sizes, tasks, select, spread=spread, mixed=mixed)
    records, _ = Store(results).load()
    ask = settled(ask, results, records)
    with rc_context(style.SETTINGS):
        drawn = _drawn(kind, records, ask, full, option)
        style.save(drawn, out)
    typer.echo(f"{drawn.caption}\nwritten to {out}")


def _drawn(kind: str, records: list[Record], ask: Ask, full: str, option: str) -> Plot:
    from cseb.plots import runs, scores
    from cseb.results import kinds
    from cseb.results.options import varied
    from cseb.spec import parse_method

    study = ask.study(records)
    if kind in ("curves", "gain", "seeds", "sensitivity") and not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")
    select = cast("Select", ask.select)
    match kind:
        case "gain":
            base = str(parse_method(full)) if full else study.methods[0]
            return scores.gain(kinds.ablation(records, (), ask, full=base), base)
        case "seeds":
            return scores.seeds(kinds.few_shot(records, (), ask))
        case "sensitivity":
            return scores.sensitivity(kinds.sensitivity(records, (), ask, option=option), varied(study, option).numbers)
        case "training":
            return runs.training(study)
        case "geometry":
            return runs.geometry(study, study.chosen(ask.tasks), select)
    return scores.curves(kinds.few_shot(records, (), ask))
