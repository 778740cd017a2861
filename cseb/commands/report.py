"""The command that prints a folder of records as a table or a page."""

from __future__ import annotations

import gc
from typing import Annotated

import typer

from cseb.commands.options import (
    Checkpoint,
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
    Tasks,
    folder_of,
    numbers,
)
from cseb.commands.screen import write
from cseb.commands.waiting import telling


def report(
    results: Results = None,
    *,
    named: Named = None,
    benchmark: Annotated[
        str, typer.Option(help="A benchmark, for its records alone and its own layout; a folder of one has it anyway.")
    ] = "",
    format: Format = "terminal",
    table: Annotated[
        str,
        typer.Option(
            help="few-shot: methods by fractions; tasks: methods by tasks; ablation: differences to the full method; "
            "sensitivity: values of one option. By default what the benchmark says, or few-shot; html adds tasks."
        ),
    ] = "",
    by: Annotated[str, typer.Option(help="What rows are: method, encoder, fraction or task.")] = "method",
    methods: Methods = "",
    fractions: Fractions = "",
    sizes: Sizes = "",
    tasks: Tasks = "",
    select: Checkpoint = "",
    spread: Annotated[
        str, typer.Option(help="Behind a mean: std, ci95 (Student's t), sem, or range (lowest and highest seed).")
    ] = "std",
    full: Annotated[str, typer.Option(help="For --table ablation: the method that the others are parts of.")] = "",
    option: Annotated[str, typer.Option(help="For --table sensitivity: such as infonce.temperature.")] = "",
    against: Annotated[str, typer.Option(help="published: compare each number with those printed in papers.")] = "",
    learning_curve: LearningCurve = False,
    mark: Annotated[
        str,
        typer.Option(
            help="What is bold (or *): the best and all not significantly different from it, for new seeds, for new "
            "test examples too, or none; items need the test data."
        ),
    ] = "seeds",
    data_dir: DataDir = "",
    mixed: Mixed = False,
    out: Out = None,
    quiet: Hushed = False,
) -> None:
    """Print the table of a results folder.

    Tables of several encoders or corpora follow each other; csv and json name both for every number.
    """
    from cseb.api.report import report as tables

    gc.disable()  # a hundred thousand records are no garbage, and this process ends soon
    with telling(quiet):
        text = tables(
            folder_of(results, named),
            format,
            table=table,
            by=by,
            methods=methods,
            fractions=numbers(fractions, float, "--fractions"),
            sizes=numbers(sizes, int, "--sizes"),
            tasks=tasks,
            checkpoint=select,
            spread=spread,
            full=full,
            option=option,
            against=against,
            learning_curve=learning_curve,
            mark=mark,
            data_dir=data_dir,
            mixed=mixed,
            benchmark=benchmark,
        )
    write(text, out)
