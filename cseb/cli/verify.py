"""The command that works out every stored number again."""

from __future__ import annotations

import typer

from cseb.cli.options import DataDir, Hushed, Named, Results, folder_of
from cseb.cli.screen import say
from cseb.cli.waiting import telling


def verify(
    results: Results = None,
    *,
    named: Named = None,
    data_dir: DataDir = "",
    quiet: Hushed = False,
) -> None:
    """Work out every number of every record again from its items and the task files alone.

    Leaves 1 if a number is not the same, or if a record cannot be checked; the others are checked all the same.
    """
    from cseb.api.sources import verify as verified

    with telling(quiet):
        found = verified(folder_of(results, named), data_dir=data_dir)
    for one in found:
        for line in one.wrong:
            say(f"BAD {one.key} {line}")
        for line in one.unknown:
            say(f"--  {one.key} cannot be checked: {line}")
    figures, good = sum(one.figures for one in found), sum(one.good for one in found)
    unknown = sum(bool(one.unknown) and not one.wrong for one in found)
    aside = f", {unknown} cannot be checked" if unknown else ""
    say(f"{good} of {len(found)} records as their items say, {figures} figures worked out again{aside}")
    raise typer.Exit(0 if good == len(found) else 1)
