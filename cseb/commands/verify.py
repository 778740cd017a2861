"""The command that recomputes every stored number."""

from __future__ import annotations

import typer

from cseb.commands.options import DataDir, Hushed, Named, Results, folder_of
from cseb.commands.screen import say
from cseb.commands.waiting import telling
from cseb.text import quantity


def verify(
    results: Results = None,
    *,
    named: Named = None,
    data_dir: DataDir = "",
    quiet: Hushed = False,
) -> None:
    """Recompute every number of every record from its per-example scores and the task files.

    The exit code is 1 if a number differs or a record cannot be checked; the others are still checked. What an archive
    leaves out on purpose is counted and is no error.
    """
    from cseb.api.sources import verify as verified

    with telling(quiet):
        found = verified(folder_of(results, named), data_dir=data_dir)
    for one in found:
        for line in one.wrong:
            say(f"BAD {one.key} {line}")
        for line in one.unknown:
            say(f"--  {one.key} cannot be checked: {line}")
    figures, good = sum(one.figures for one in found), sum(one.good and not one.untold for one in found)
    unknown = sum(bool(one.unknown) and not one.wrong for one in found)
    aside = f", {unknown} cannot be checked" if unknown else ""
    if left_out := sum(one.left_out for one in found):
        aside += f"; the archive leaves out the items of {quantity(left_out, 'score')}"
    say(f"{good} of {quantity(len(found), 'record')} verified, {quantity(figures, 'figure')} recomputed{aside}")
    raise typer.Exit(0 if all(one.good for one in found) else 1)
