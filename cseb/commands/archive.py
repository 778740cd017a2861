"""The command that packs folders of records into a file of a repository."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import Hushed
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.text import quantity


def archive(
    results: Annotated[list[Path], typer.Argument(help="Folders of records.")],
    *,
    out: Annotated[Path, typer.Option(help="Folder to write an archive and scores.csv into.")],
    items: Annotated[
        str,
        typer.Option(help="Methods whose scores per example are packed too, of new records; none; by default all."),
    ] = "",
    select: Annotated[str, typer.Option(help="Of which checkpoint items are packed: best, last, or both.")] = "both",
    quiet: Hushed = False,
) -> None:
    """Pack every record, the items of some methods, and a table of all scores, for a repository.

    OUT is a folder of records like any other. Its archive is records.zip, which commands read and never change: records
    that it does not have yet go into records-2.zip, and so on; those that it has are not given items later. Nothing in
    RESULTS is removed.
    """
    from cseb.api.archive import archive as pack

    with telling(quiet):
        found = pack(results, out, items=items, checkpoint=select)
    table = f"{quantity(found.scores, 'score')} in {out}/scores.csv"
    if found.path is None:
        say(f"nothing new: every record is in an archive of {out} already; {table}")
        return
    before = f", beside {quantity(found.before, 'record')} archived before" if found.before else ""
    say(
        f"{quantity(found.records, 'record')}, {found.with_items} of them with items, in {found.path} "
        f"({found.size / 1e6:.1f} MB){before}; {table}"
    )
