"""Show the state of a grid, from its folder alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.commands.command_line import Call
from cseb.errors import BadResults
from cseb.parameters import argument, command, option
from cseb.text import percent, plain, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cseb.commands.progress import Cell
    from cseb.launchers.claims import Claim
    from cseb.launchers.job_states import JobStates

REFRESH = 2.0  # seconds between two pictures with --watch


@command
def status(results: Annotated[str | Path, argument("Folder of records.")] = "results") -> RenderableType:
    """Show which jobs are done, running, failed, or stale (their process was killed).

    Returns:
        What rich prints.

    Raises:
        BadResults: if there is no such folder of records.
    """
    from cseb.launchers.claims import claims_of

    return picture(_states(results), *claims_of(Path(results)))


def print_status(
    call: Call[RenderableType], *, watch: Annotated[bool, option("Refresh until every job has ended.")] = False
) -> None:
    """Print the state of the jobs, once or again and again."""
    from contextlib import suppress

    from rich.console import Console
    from rich.live import Live

    from cseb.launchers.claims import claims_of

    console = Console(highlight=False)
    if not watch:
        console.print(call())
        return
    folder = Path(call.settings.get("results", "results"))
    states = _states(folder)
    with suppress(KeyboardInterrupt), Live(console=console, auto_refresh=False) as live:  # Ctrl-C ends the display
        while True:
            live.update(picture(states, *claims_of(folder)), refresh=True)
            if states.finished():
                break
            time.sleep(REFRESH)


def _states(results: str | Path) -> JobStates:
    from cseb.launchers.job_states import JobStates
    from cseb.records.store import Store

    if not (store := Store(Path(results))).exists():
        raise BadResults(f"no records in {results}: no folder {store.runs}; name a folder cseb has written")
    return JobStates(store)


def picture(states: JobStates, valid: Sequence[Claim], invalid: Sequence[Claim]) -> RenderableType:
    """Return the state of the jobs in a folder, given its valid and invalid claims."""
    from rich.console import Group
    from rich.text import Text

    from cseb.commands import progress as display
    from cseb.experiment.planned_jobs import Planned
    from cseb.records.progress import Progress

    states.update()
    claims = {claim.key: claim for claim in valid}
    jobs = {key: Planned(claim.method, claim.fraction, claim.seed) for key, claim in claims.items()}
    jobs |= states.planned()
    ended = {key: how for key, how in states.ended().items() if key in jobs and key not in claims}
    board = display.Board(
        jobs,
        {key for key, how in ended.items() if how == "done"},
        states.seconds(jobs) if claims else {},  # no end is in sight while nothing runs
        max(1, len(claims)),
        failed={key for key, how in ended.items() if how == "failed"},
        running={key: Progress(key, claim.step, claim.steps, claim.loss, claim.dev) for key, claim in claims.items()},
        since={key: time.monotonic() - max(0.0, time.time() - claim.started) for key, claim in claims.items()},
    )
    lines = [f"failed: {_name(jobs[key])}: {plain(states.reason(key))}" for key in sorted(board.failed)]
    for claim in states.stale(invalid):
        name = _name(Planned(claim.method, claim.fraction, claim.seed))
        lines.append(f"stale: {name}: process {claim.pid} on {plain(claim.host)} has ended; run cseb run again")
    return Group(
        display.picture(board),
        *(Text(shown(line), overflow="fold") for line in states.devices()),
        *(Text(shown(line), style="red", overflow="fold") for line in lines),
    )


def _name(job: Cell) -> str:
    return f"{plain(job.label)} {percent(job.fraction)} seed {job.seed}"
