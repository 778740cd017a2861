"""The command that draws a folder of records."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cseb.cli.planned import plans, settled
from cseb.cli.report import Checkpoint, Fractions, Methods, Mixed, Results, Sizes, Tasks, asked
from cseb.errors import BadResults, one_of

if TYPE_CHECKING:
    from cseb.plots.style import Plot
    from cseb.results.record import Record, Select
    from cseb.results.tables import Ask

KINDS = ("curves", "gain", "profile", "geometry", "training", "seeds", "sensitivity", "cd")


def plot(
    results: Results = Path("results"),
    *,
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
    ask = settled(ask, records, plans(results, records))
    with rc_context(style.SETTINGS):
        drawn = _drawn(kind, records, ask, baseline, option)
        style.save(drawn, out)
    typer.echo(f"{drawn.caption}\nwritten to {out}")


def _drawn(kind: str, records: list[Record], ask: Ask, baseline: str, option: str) -> Plot:
    from cseb.plots import critical, profiles, runs, scores
    from cseb.results import kinds
    from cseb.results.corpora import blocks
    from cseb.results.gains import floor
    from cseb.results.options import varied
    from cseb.results.study import as_it_stands
    from cseb.spec import parse_method

    everything = records
    records = [record for record in records if not as_it_stands(record)] or records
    select = cast("Select", ask.select)
    if kind == "cd":
        return critical.diagram(blocks(records, ask, select))
    study = ask.study(records)
    if baseline and baseline not in {record.method for record in everything}:
        baseline = str(parse_method(baseline))
    if kind in ("curves", "gain", "profile", "seeds", "sensitivity") and not any(study.sizes):
        raise BadResults("nothing was trained in these records, so there is no number of sentences to draw at")

    def gain() -> Plot:
        base = baseline or study.methods[0]
        return scores.gain(kinds.ablation(records, (), ask, full=base), base)

    def profile() -> Plot:
        tasks = study.chosen(ask.tasks)
        return profiles.profile(study, tasks, select, floor(everything, study, tasks, select, baseline))

    def sensitivity() -> Plot:
        return scores.sensitivity(kinds.sensitivity(records, (), ask, option=option), varied(study, option).numbers)

    draw: dict[str, Callable[[], Plot]] = {
        "curves": lambda: scores.curves(kinds.few_shot(records, (), ask)),
        "gain": gain,
        "profile": profile,
        "seeds": lambda: scores.seeds(kinds.few_shot(records, (), ask)),
        "training": lambda: runs.training(study),
        "sensitivity": sensitivity,
        "geometry": lambda: runs.geometry(study, study.chosen(ask.tasks), select),
    }
    return draw[kind]()
