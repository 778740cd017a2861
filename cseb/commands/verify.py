"""Recompute every stored number."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.parameters import DATA_DIR, argument, command
from cseb.text import quantity

if TYPE_CHECKING:
    from cseb.commands.recompute import Checked


@command
def verify(
    results: Annotated[str | Path, argument("Folder of records.")] = "results",
    *,
    data_dir: Annotated[str | Path, DATA_DIR] = "",
) -> list[Checked]:
    """Recompute every number of every record from its per-example scores and the task files.

    The exit code is 1 if a number differs or a record cannot be checked; the others are still checked. Scores that a
    packed folder leaves out on purpose are counted.

    Returns:
        One entry for each record: `good`, `figures` (how many), `wrong` and `unknown` (why it cannot be checked).

    Raises:
        BadResults: if there is no such folder.
    """
    from cseb.commands.recompute import verify as verified
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.records.store import Store

    store, given = Store(Path(results)), str(data_dir)

    def place(name: str) -> str:
        loaded = None if given else as_it_was_run(store.folder, name)
        return loaded.data_dir if loaded else given

    return list(
        verified(store, {name: place(name) for name in {one.benchmark for one in store.load()[0]}} | {"": given})
    )


def print_verified(call: Call[list[Checked]]) -> None:
    """Print what is wrong or unknown and how much was recomputed; exit with 1 if a record is not good."""
    records = call()
    for record in records:
        for line in record.wrong:
            say(f"BAD {record.key} {line}")
        for line in record.unknown:
            say(f"--  {record.key} cannot be checked: {line}")
    figures, good = sum(record.figures for record in records), sum(each.good and not each.untold for each in records)
    unknown = sum(bool(record.unknown) and not record.wrong for record in records)
    aside = f", {unknown} cannot be checked" if unknown else ""
    if left_out := sum(record.left_out for record in records):
        aside += f"; the archive leaves out the items of {quantity(left_out, 'score')}"
    say(f"{good} of {quantity(len(records), 'record')} verified, {quantity(figures, 'figure')} recomputed{aside}")
    raise typer.Exit(0 if all(record.good for record in records) else 1)
