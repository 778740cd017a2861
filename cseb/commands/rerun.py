"""Run the job of a record again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from cseb.commands.command_line import Call
from cseb.commands.screen import say
from cseb.errors import BadResults
from cseb.parameters import COLUMN, DATA_DIR, TRUST_REMOTE_CODE, argument, command, option
from cseb.progress import tell
from cseb.text import quantity


@dataclass(frozen=True, slots=True)
class Rerun:
    """A job run again. differing: what is not as in the record, and how far. conditions: what else differs here."""

    key: str
    differing: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]
    items: bool  # whether the record has items, which were compared too
    left_out: int  # how many scores have items that an archive leaves out on purpose

    @property
    def equal(self) -> bool:
        """Whether every score and item came back to the last bit."""
        return not self.differing


@command
def rerun(
    record: Annotated[str | Path, argument("Key of a record, its beginning, or its file.")],
    results: Annotated[str | Path, option("Folder of records.")] = "results",
    *,
    data_dir: Annotated[str | Path, DATA_DIR] = "",
    column: Annotated[str, COLUMN] = "",
    trust_remote_code: Annotated[bool, TRUST_REMOTE_CODE] = False,
) -> Rerun:
    """Repeat the job of a record and compare all scores bit by bit. The exit code is 1 if they differ.

    Returns:
        What differs.

    Raises:
        CsebError: if the job cannot be run here as it was.
    """
    from cseb.commands import job_again as again
    from cseb.experiment.load_item_scores import as_it_was_run
    from cseb.records.find import find

    store, there = find(str(record), Path(results))
    loaded = as_it_was_run(store.folder, there.benchmark)
    job = again.job_of(
        there,
        column or (loaded.column if loaded and loaded.corpus == there.corpus.name else ""),
        str(data_dir) or (loaded.data_dir if loaded else ""),
        trust_remote_code,
    )
    try:
        held = store.read_items(there.key)
    except BadResults:
        held = None
    here, items = again.again(job, lambda seen: tell("training, step", seen.step, seen.steps))
    absent = items.keys() - (held or {}) if store.is_archived(there.key) else set()
    differing = tuple(again.compared(here, there, {name: items[name] for name in items.keys() - absent}, held))
    conditions = tuple(again.condition_differences(here, there))
    return Rerun(there.key, differing, conditions, held is not None, len(absent))


def print_rerun(call: Call[Rerun]) -> None:
    """Print what differs; exit with 1 if something does."""
    done = call()
    for what, how_far in done.differing:
        say(f"BAD {what}: {how_far}")
    for line in done.conditions:
        say(f"    {line}")
    what = "scores and items" if done.items else "scores"
    aside = f"; the archive leaves out the items of {quantity(done.left_out, 'score')}" if done.left_out else ""
    say(f"{done.key}: {what} {'equal to the last bit' if done.equal else 'not equal'}{aside}")
    raise typer.Exit(0 if done.equal else 1)
