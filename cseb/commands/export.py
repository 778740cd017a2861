"""The command that brings a saved model to its users."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import DEFAULT, DataDir, Hushed, Licence, Records
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.text import plain


def export(
    record: Annotated[
        str, typer.Argument(help="The key of a run with a saved model, its beginning, or the record's file.")
    ],
    *,
    results: Records = DEFAULT,
    to: Annotated[Path | None, typer.Option(help="A new folder for model and card.")] = None,
    format: Annotated[
        str, typer.Option(help="transformers, onnx or onnx-int8; the latter two add an ONNX file (cseb[onnx]).")
    ] = "transformers",
    push: Annotated[
        str, typer.Option(help="Push to this repository of the Hugging Face hub.", metavar="OWNER/NAME")
    ] = "",
    private: Annotated[bool, typer.Option("--private", help="A new repository is visible to its owner alone.")] = False,
    data_dir: DataDir = "",
    licence: Licence = "",
    quiet: Hushed = False,
) -> None:
    """Copy a saved model with its card into a folder, or push it to the Hugging Face hub.

    An ONNX file is scored on the tasks of the run: what it costs in points is printed, and stands in the card.
    """
    from cseb.api.export import export as exported

    with telling(quiet):
        found = exported(
            record, results, to=to or "", format=format, push=push, private=private, data_dir=data_dir, licence=licence
        )
    if found.drifts:
        from cseb.experiment.onnx_export import change
        from cseb.reports.text_table import aligned

        rows = [
            (plain(one.task), *(_points(value) for value in (one.trained, one.onnx)), change(one))
            for one in found.drifts
        ]
        for line in aligned([("task", "trained", "onnx", "drift"), *rows]):
            say(line)
    for place in filter(None, (found.folder, found.address)):
        say(f"written to {plain(place)}")


def _points(value: float | None) -> str:
    return "collapsed" if value is None else f"{value:.2f}"
