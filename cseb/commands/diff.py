"""The command that says what differs between two results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.options import Hushed, Records
from cseb.commands.screen import say
from cseb.commands.waiting import telling


def diff(
    a: Annotated[str, typer.Argument(help="A record, or a folder of records.")],
    b: Annotated[str, typer.Argument(help="Another one, or published.")],
    *,
    results: Records = Path("results"),
    quiet: Hushed = False,
) -> None:
    """List what differs between two results, and how much of the gap each part of the protocol explains."""
    from cseb.api.sources import diff as differing

    with telling(quiet):
        found = differing(a, b, results)
    say(found)
