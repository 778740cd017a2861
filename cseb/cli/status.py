"""The command that says what becomes of a grid, from its folder alone: on any host, whoever runs it and however."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

import typer

from cseb.cli.options import Named, Results, folder_of
from cseb.cli.screen import say
from cseb.errors import BadResults
from cseb.experiment.planned_jobs import Planned, read_plan
from cseb.text import plain, shown

if TYPE_CHECKING:
    from rich.console import RenderableType

    from cseb.cli.progress import Board, Cell
    from cseb.launchers.heartbeat import Beat, Seen
    from cseb.records.record import Record
    from cseb.records.store import Store

REFRESH = 2.0  # seconds between two looks with --watch


def status(
    results: Results = None,
    watch: Annotated[bool, typer.Option("--watch", help="Refresh until no job is running or waiting.")] = False,
    named: Named = None,
) -> None:
    """Show which jobs are done, running, failed, or stale (their process has died)."""
    from rich.console import Console
    from rich.live import Live

    from cseb.launchers.heartbeat import FRESH, Pulses
    from cseb.records.store import Store

    results = folder_of(results, named)
    if not (store := Store(results)).exists():
        raise BadResults(f"no records in {results}: no folder {store.runs}; name a folder cseb has written")
    folder, pulses, console = Folder(store), Pulses(results), Console(highlight=False)
    if not watch:
        console.print(folder.picture(*pulses.settled()))
        return
    heard = time.monotonic()  # when somebody was last alive
    try:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                alive, silent = pulses.look()
                if alive or pulses.launched():
                    heard = time.monotonic()
                live.update(folder.picture(alive, silent), refresh=True)
                if folder.finished() or time.monotonic() - heard > FRESH:
                    break
                time.sleep(REFRESH)
        if not folder.finished():
            say("nothing runs any more; cseb run goes on from there", err=True)
    except KeyboardInterrupt:  # how one stops to watch
        return


@dataclass(slots=True)
class Folder:
    """What a folder of results holds; a record is read once, however often one looks.

    broken: why jobs ended without a record, by key.
    """

    store: Store
    records: dict[str, Record] = field(default_factory=dict)
    broken: dict[str, str] = field(default_factory=dict)

    def planned(self) -> dict[str, Planned]:
        """Every job of the grids that were run into this folder, by key: what was planned, and what has a record."""
        found: dict[str, Planned] = {}
        for path in sorted(self.store.folder.glob("plan-*.tsv")):
            found |= read_plan(path)
        for key, one in self.records.items():
            if one.benchmark != "eval":
                found.setdefault(key, Planned(one.method, one.subset.fraction, one.seed))
        return found

    def look(self) -> None:
        """Read the records that are new, and what is said of jobs without one."""
        from cseb.launchers.error_files import reasons

        keys = self.store.keys()
        self.records = {key: record for key, record in self.records.items() if key in keys}
        for key in keys - set(self.records):
            if (record := self.store.find(key)) is not None:
                self.records[key] = record
        self.broken = {key: why for key, why in reasons(self.store.folder).items() if key not in self.records}

    def finished(self) -> bool:
        """Whether every planned job has ended, with a record or without."""
        return set(self.planned()) <= {*self.records, *self.broken}

    def picture(self, alive: Sequence[Seen], silent: Sequence[Seen]) -> RenderableType:
        """What to show, given the heartbeats of those that are alive and those that are silent."""
        from rich.console import Group
        from rich.text import Text

        from cseb.cli import progress as display

        self.look()
        stale = [seen for seen in silent if seen.beat.key not in {*self.records, *self.broken}]
        board = self._board({seen.beat.key: seen.beat for seen in alive})
        lines = [*self._failed(board), *_stale(stale)]
        return Group(display.picture(board), *(Text(shown(line), style="red", overflow="fold") for line in lines))

    def _board(self, beats: Mapping[str, Beat]) -> Board:
        from cseb.cli.progress import Board
        from cseb.experiment.plan import Progress

        jobs = self.planned()
        jobs |= {key: Planned(beat.method, beat.fraction, beat.seed) for key, beat in beats.items()}
        states = dict.fromkeys(self.broken, "failed") | {key: one.status for key, one in self.records.items()}
        states = {key: state for key, state in states.items() if key in jobs}
        running = {key: Progress(key, one.step, one.steps, one.loss, one.dev) for key, one in beats.items()}
        return Board(
            jobs,
            {key for key, state in states.items() if state == "done" and key not in running},
            self._seconds(jobs),
            max(1, len(running)),
            failed={key for key, state in states.items() if state == "failed" and key not in running},
            running=running,
            since={key: time.monotonic() - beat.seconds for key, beat in beats.items()},
        )

    def _seconds(self, jobs: Mapping[str, Planned]) -> dict[str, float | None]:
        """What each job is likely to take: the mean of its method so far."""
        took: dict[str, list[float]] = {}
        for record in self.records.values():
            if record.status == "done":
                took.setdefault(record.method, []).append(record.cost.train_seconds + record.cost.score_seconds)
        mean = {method: sum(seconds) / len(seconds) for method, seconds in took.items()}
        return {key: mean.get(job.label) for key, job in jobs.items()}

    def _failed(self, board: Board) -> Iterator[str]:
        for key in sorted(board.failed):
            failure = self.records[key].failure if key in self.records else None
            why = failure.reason if failure else self.broken.get(key) or "no reason given"
            yield f"failed: {_name(board.jobs[key])}: {plain(why)}"


def _stale(silent: Sequence[Seen]) -> Iterator[str]:
    for seen in silent:
        beat, planned = seen.beat, Planned(seen.beat.method, seen.beat.fraction, seen.beat.seed)
        place = f"process {beat.pid} on {plain(beat.host)}"
        yield f"stale: {_name(planned)}: {place} is silent; cseb run goes on from there"


def _name(job: Cell) -> str:
    from cseb.text import percent

    return f"{plain(job.label)} {percent(job.fraction)} seed {job.seed}"
