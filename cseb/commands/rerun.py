"""The command that runs the job of a record again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import DataDir, Hushed, Records, Trust
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.text import quantity


def rerun(
    record: Annotated[str, typer.Argument(help="The key of a record, the beginning of one, or its file.")],
    *,
    results: Records = Path("results"),
    data_dir: DataDir = "",
    column: Annotated[str, typer.Option(help="Column of the sentences; else the benchmark's.")] = "",
    trust_remote_code: Trust = False,
    quiet: Hushed = False,
) -> None:
    """Repeat the job of a record and compare all scores bit by bit; exit code 1 if they differ."""
    from cseb.api.sources import rerun as again

    with telling(quiet):
        found = again(record, results, data_dir=data_dir, column=column, trust_remote_code=trust_remote_code)
    for what, how_far in found.differing:
        say(f"BAD {what}: {how_far}")
    for line in found.conditions:
        say(f"    {line}")
    what = "scores and items" if found.items else "scores"
    aside = f"; the archive leaves out the items of {quantity(found.left_out, 'score')}" if found.left_out else ""
    say(f"{found.key}: {what} {'equal to the last bit' if found.equal else 'not equal'}{aside}")
    raise typer.Exit(0 if found.equal else 1)
