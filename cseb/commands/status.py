"""The command that says what becomes of a grid, from its folder alone: on any host, whoever runs it and however."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.commands.options import Named, Results, folder_of
from cseb.commands.screen import say
from cseb.errors import BadResults
from cseb.text import percent, plain, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cseb.commands.progress import Cell
    from cseb.launchers.job_states import JobStates
    from cseb.launchers.pulses import Seen

REFRESH = 2.0  # seconds between two looks with --watch


def status(
    results: Results = None,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until no job is running or waiting.")] = False,
    named: Named = None,
) -> None:
    """Show which jobs are done, running, failed, or stale (their process has died)."""
    from rich.console import Console
    from rich.live import Live

    from cseb.launchers.job_states import JobStates
    from cseb.launchers.pulses import FRESH, Pulses, tidy
    from cseb.records.store import Store

    results = folder_of(results, named)
    if not (store := Store(results)).exists():
        raise BadResults(f"no records in {results}: no folder {store.runs}; name a folder cseb has written")
    tidy(results)
    states, pulses, console = JobStates(store), Pulses(results), Console(highlight=False)
    if not watch:
        console.print(picture(states, *pulses.settled()))
        return
    last_sign = time.monotonic()  # when somebody was last alive
    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                alive, silent = pulses.look()
                if alive or pulses.launched():
                    last_sign = time.monotonic()
                live.update(picture(states, alive, silent), refresh=True)
                if states.finished() or time.monotonic() - last_sign > FRESH:
                    break
                time.sleep(REFRESH)
        if not states.finished():
            say("nothing runs any more; cseb run goes on from there", err=True)
    except KeyboardInterrupt:  # how one stops to watch
        return


def picture(states: JobStates, alive: Sequence[Seen], silent: Sequence[Seen]) -> RenderableType:
    """What a look at the folder shows, given the heartbeats of those that are alive and those that are silent."""
    from rich.console import Group
    from rich.text import Text

    from cseb.commands import progress as display
    from cseb.experiment.planned_jobs import Planned
    from cseb.records.progress import Progress

    states.look()
    beats = {seen.beat.key: seen.beat for seen in alive}
    jobs = states.planned()
    jobs |= {key: Planned(beat.method, beat.fraction, beat.seed) for key, beat in beats.items()}
    ended = {key: how for key, how in states.ended().items() if key in jobs and key not in beats}
    board = display.Board(
        jobs,
        {key for key, how in ended.items() if how == "done"},
        states.seconds(jobs) if beats else {},  # no end is in sight while nothing runs
        max(1, len(beats)),
        failed={key for key, how in ended.items() if how == "failed"},
        running={key: Progress(key, one.step, one.steps, one.loss, one.dev) for key, one in beats.items()},
        since={key: time.monotonic() - beat.seconds for key, beat in beats.items()},
    )
    lines = [f"failed: {_name(jobs[key])}: {plain(states.why(key))}" for key in sorted(board.failed)]
    for seen in states.stale(silent):
        beat = seen.beat
        name = _name(Planned(beat.method, beat.fraction, beat.seed))
        place = f"process {beat.pid} on {plain(beat.host)} {'has ended' if seen.dead else 'is silent'}"
        lines.append(f"stale: {name}: {place}; cseb run goes on from there")
    return Group(display.picture(board), *(Text(shown(line), style="red", overflow="fold") for line in lines))


def _name(job: Cell) -> str:
    return f"{plain(job.label)} {percent(job.fraction)} seed {job.seed}"
