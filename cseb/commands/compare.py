"""The command that compares the methods of a folder."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from cseb.commands.options import (
    DataDir,
    Format,
    Fractions,
    Hushed,
    LearningCurve,
    Methods,
    Mixed,
    Named,
    Out,
    Results,
    Sizes,
    folder_of,
    numbers,
)
from cseb.commands.screen import write
from cseb.commands.waiting import telling


def compare(
    results: Results = None,
    *,
    named: Named = None,
    baseline: Annotated[str, typer.Option(help="The method to compare with; simcse where there is one.")] = "",
    all_pairs: Annotated[bool, typer.Option("--all-pairs", help="Every two methods in place of a baseline.")] = False,
    methods: Methods = "",
    fractions: Fractions = "",
    sizes: Sizes = "",
    tasks: Annotated[str, typer.Option(help="Tasks to average; by default all that are scored alike.")] = "",
    select: Annotated[
        str, typer.Option(help="The checkpoint: best on the dev set or last; best where there is one.")
    ] = "",
    margin: Annotated[float, typer.Option(min=0, help="Points below which a difference does not matter.")] = 0.5,
    singles: Annotated[bool, typer.Option("--single-tasks", help="Single tasks too, exploratory.")] = False,
    learning_curve: LearningCurve = False,
    data_dir: DataDir = "",
    mixed: Mixed = False,
    format: Format = "terminal",
    out: Out = None,
    quiet: Hushed = False,
) -> None:
    """Compare methods by paired differences, with intervals for new seeds and for new test examples.

    The average over tasks is the primary comparison, corrected by Holm at each fraction; all else is exploratory.
    """
    from cseb.api.compare import compare as compared
    from cseb.errors import one_of
    from cseb.reports.formats import FORMATS

    one_of(FORMATS, format, "--format")  # before the folder is read
    gc.disable()  # records are no garbage, and this process ends soon
    with telling(quiet):
        found = compared(
            folder_of(results, named),
            baseline=baseline,
            all_pairs=all_pairs,
            methods=methods,
            fractions=numbers(fractions, float, "--fractions"),
            sizes=numbers(sizes, int, "--sizes"),
            tasks=tasks,
            checkpoint=select,
            margin=margin,
            single_tasks=singles,
            learning_curve=learning_curve,
            data_dir=data_dir,
            mixed=mixed,
        )
        text = found.text(format)
    write(text, out)
