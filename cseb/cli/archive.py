"""The command that packs folders of records into one file for a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.cli.options import Hushed
from cseb.cli.screen import say
from cseb.cli.waiting import telling
from cseb.text import quantity


def archive(
    results: Annotated[list[Path], typer.Argument(help="Folders of records.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder to write records.zip and scores.csv into.")],
    items: Annotated[
        str, typer.Option(help="Methods whose scores per item are packed too; none; by default all.")
    ] = "",
    select: Annotated[str, typer.Option(help="Of which checkpoint items are packed: best, last, or both.")] = "both",
    quiet: Hushed = False,
) -> None:
    """Pack every record, the items of some methods, and a table of all scores, for a repository.

    OUT is a folder of records like any other, which commands read and never change. Nothing in RESULTS is removed.
    """
    from cseb.api.archive import archive as pack

    with telling(quiet):
        found = pack(results, out, items=items, checkpoint=select)
    say(
        f"{quantity(found.records, 'record')}, {found.with_items} of them with items, in {out}/records.zip "
        f"({found.size / 1e6:.1f} MB); {quantity(found.scores, 'score')} in {out}/scores.csv"
    )
