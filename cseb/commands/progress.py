"""Text about a grid before and after it runs, and its display meanwhile: a line for each finished or running job."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from cseb.commands.screen import lines as written
from cseb.experiment.grid import Grid, Planned
from cseb.launchers.job_runner import Broken, Event, Finished, Started, Summary, Watch
from cseb.methods.grammar import parse_method
from cseb.records.method_text import part_differences, stated
from cseb.records.progress import Progress
from cseb.records.record import Record, Select
from cseb.statistics.paired import Design, exact_floor
from cseb.text import aligned, duration, percent, plain, points, quantity, shown

CENTURY = 3e9  # seconds; a longer estimate is not shown


@dataclass(slots=True)
class Board:
    """The state of every job of the grid, by key, updated by events; another thread may draw it meanwhile.

    seconds: expected of each job, None if unknown. workers: jobs at a time. clock: returns the time in seconds, by
    which `since` has the start of each running job.
    """

    jobs: Mapping[str, Planned]
    done: set[str]
    seconds: Mapping[str, float | None]
    workers: int
    clock: Callable[[], float] = time.monotonic
    failed: set[str] = field(default_factory=set)
    running: dict[str, Progress] = field(default_factory=dict)
    since: dict[str, float] = field(default_factory=dict)
    _took: dict[str, list[float]] = field(default_factory=dict)  # by method

    def update(self, event: Event) -> None:
        """Update the state."""
        match event:
            case Started(key):
                self.done.discard(key)  # a fresh run of a job that has a record already
                self.failed.discard(key)
                self.since[key] = self.clock()
                self.running[key] = Progress(key, 0, 0, None, None)
            case Progress(key=key):
                self.running[key] = event
            case Finished(key) | Broken(key):
                self.running.pop(key, None)
                good = isinstance(event, Finished) and event.record.status == "done"
                (self.done if good else self.failed).add(key)
                if isinstance(event, Finished) and good:  # its own word: it may have been run by another launcher
                    self._took.setdefault(self.jobs[key].label, []).append(event.record.cost.seconds)

    def seconds_left(self) -> float | None:
        """Seconds until the grid is finished, None while nothing is known: all jobs' expected time over the workers.

        A running job shows how long training takes, but not how long scoring will.
        """
        ended, running, now = self.done | self.failed, dict(self.running), self.clock()
        expected = {key: self._expected(key) for key in self.jobs if key not in ended}
        lengths = [seconds for seconds in expected.values() if seconds is not None] or [
            (now - self.since[key]) * progress.steps / progress.step
            for key, progress in running.items()
            if 0 < progress.step < progress.steps
        ]
        if not lengths:
            return None if expected else 0.0
        typical, total = fmean(lengths), 0.0
        for key, seconds in expected.items():
            whole = typical if seconds is None else seconds
            total += max(0.0, whole - (now - self.since[key])) if key in running else whole
        return total / max(1, min(max(self.workers, len(running)), len(expected)))  # a cluster may have more

    def _expected(self, key: str) -> float | None:
        took = self._took.get(self.jobs[key].label)
        return fmean(took) if took else self.seconds.get(key)

    def outlook(self) -> str:
        """Return `3 of 30 done, 1 failed; about 5 min left, until 14:05`."""
        left, failed = self.seconds_left(), f", {len(self.failed)} failed" if self.failed else ""
        message = f"{len(self.done)} of {len(self.jobs)} done{failed}"
        if left and left < CENTURY:
            message += f"; about {duration(left)} left, until {datetime.now() + timedelta(seconds=left):%H:%M}"
        return message

    def place(self, key: str) -> str:
        """Return `[ 3/30] simcse 0.1 % seed 2`."""
        total, count = len(self.jobs), len(self.done) + len(self.failed)
        return f"[{count:>{len(str(total))}}/{total}] {job_name(self.jobs[key])}"


@contextmanager
def watching(board: Board, *, quiet: bool = False, console: Console | None = None) -> Iterator[Watch]:
    """Yield a function that shows events; only errors if quiet. A screen that cannot be written stops no job."""
    out = console or Console(file=sys.stdout, highlight=False)
    errors = console or Console(file=sys.stderr, highlight=False)
    printed: set[str] = set()

    def show(event: Event) -> None:
        board.update(event)
        with suppress(OSError):  # a full disk or a closed pipe
            if line := failure_line(board, event):
                errors.print(Text(shown(line), style="red"), soft_wrap=True)
            if isinstance(event, Broken) and event.detail and event.detail not in printed:
                printed.add(event.detail)  # thirty jobs may share one bug; one traceback is enough
                errors.print(Text(shown(event.detail.rstrip())), soft_wrap=True)
            if not quiet and isinstance(event, Finished) and event.record.status == "done":
                out.print(Text(shown(finished_line(board, event.record))), soft_wrap=True)

    if quiet:
        yield show
    elif not out.is_terminal:
        with written(board.outlook):  # a job may take hours
            yield show
    else:
        with Live(get_renderable=lambda: picture(board), console=out, transient=True) as live:
            errors = live.console  # errors go above the picture
            yield show


def finished_line(board: Board, record: Record) -> str:
    """Return `[ 3/30] simcse 0.1 % seed 2: best 56.31 last 55.90 dev 60.10 (7.9 s)`; of a trial also its value."""
    selects: tuple[Select, ...] = ("best", "last")
    scored = {score.select for score in record.scores}
    scores = [f"{select} {points(mean_points(record, select))}" for select in selects if select in scored]
    dev = [score for _, _, score in record.trace.curve if score is not None] if record.trace else []
    scores += [f"dev {points(max(dev))}"] if dev else []
    return f"{board.place(record.key)}{_trial(record)}: {' '.join(scores) or 'no scores'} ({record.cost.seconds:.1f} s)"


def _trial(record: Record) -> str:
    return f", {plain(record.tuning.options)}" if record.purpose == "tuning" and record.tuning else ""


def failure_line(board: Board, event: Event) -> str:
    """Return one line for a job without scores, "" for any other event."""
    match event:
        case Broken(key, kind, reason):
            return f"{board.place(key)}: {'crashed' if kind == 'died' else 'failed'}: {reason}"
        case Finished(key, record) if record.status == "failed":
            why = record.failure.reason if record.failure else "no reason given"
            return f"{board.place(key)}{_trial(record)}: failed: {why}"
    return ""


def mean_points(record: Record, select: Select) -> float | None:
    """Return the mean over the tasks with the protocol of the first one; None if a score is missing."""
    scores = [score for score in record.scores if score.select == select]
    values = [score.value for score in scores if score.protocol == scores[0].protocol]
    scored = [value for value in values if value is not None]
    return fmean(scored) if scored and len(scored) == len(values) else None


def picture(board: Board) -> Group:
    """Return a line for each running job, and the outlook."""
    lines = [
        f"{duration(board.clock() - board.since[key])}, {progress}: {job_name(board.jobs[key])}"
        for key, progress in list(board.running.items())
    ]
    return Group(*(Text(line, no_wrap=True, overflow="ellipsis") for line in [*lines, board.outlook()]))


def job_name(job: Planned) -> str:
    """Return `simcse 0.1 % seed 2`."""
    return f"{plain(job.label)} {percent(job.fraction)} seed {job.seed}"


def listing(grid: Grid) -> str:
    """Return one line for each job, with its expected run time."""
    seconds = grid.seconds
    todo = {job.key for job in grid.todo}
    rows = [("key", "method", "fraction", "sentences", "seed", "record", "expected")]
    for job in grid.jobs:
        key = job.key
        record, expected = grid.records.get(key), seconds[key]
        cost = "unknown" if expected is None else duration(expected)
        state = (record.status if record else "none", cost if key in todo else "-")
        label = f"{job.label}, {job.tuning.options}" if job.tuning else job.label
        rows.append((key, label, percent(job.fraction), str(job.size), str(job.seed), *state))
    note = ["Whether the parts of a method go together and with the encoder is checked when the run starts."]
    return "\n".join(
        [*aligned(rows), *_replaced(grid), *outlook(grid), *(note if todo else []), *_power(grid.benchmark.seeds)]
    )


def outlook(grid: Grid) -> list[str]:
    """Return how many jobs there are and how long they are expected to take."""
    tunes = all(job.purpose == "tuning" for job in grid.jobs)
    jobs = "tuning trial" if tunes else "job"
    message = f"{quantity(len(grid.jobs), jobs)}, {len(grid.todo)} to run"
    if tunes:
        message += "; the runs with the chosen values follow"
    if not grid.todo:
        return [message]
    left = grid.left()
    if left is None:
        return [f"{message}. Run time unknown."]
    return [f"{message}. Expected run time: {duration(left)} with {quantity(grid.workers, 'worker')}."]


def _replaced(grid: Grid) -> list[str]:
    """Return the options of methods that the benchmark replaces (`scale`, `per_method`, `steps`, `tune`), each once."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    cells = {(job.label, job.fraction): job.method for job in grid.jobs if job.purpose == "reported"}
    for (label, fraction), used in cells.items():
        for part in part_differences(stated(parse_method(label).at(fraction)), stated(used)):
            found.setdefault((part.name, part.a, part.b), {})[label] = None
    rows = [(f"  {', '.join(of)}", name, f"{own} became {now}") for (name, own, now), of in found.items()]
    return ["the benchmark replaces:", *aligned(rows)] if rows else []


def ending(grid: Grid, summary: Summary, fresh: bool) -> str:
    """Return the last line of a run."""
    broken = summary.failed + summary.refused
    if summary.stopped:
        how = "the other records are unchanged" if fresh else "repeat the command to continue"
        return f"stopped: {summary.done + broken} of {quantity(summary.total, 'job')} run; {how}"
    recorded = (
        "the only job has a record" if len(grid.jobs) == 1 else f"all {quantity(len(grid.jobs), 'job')} have records"
    )
    message = f"{quantity(summary.done, 'job')} done" if summary.total else recorded
    message += f", {broken} failed" if broken else ""
    message += f", {len(grid.failed)} failed before (--rerun failed runs them again)" if grid.failed else ""
    if summary.total and not summary.done:
        return message
    return f"{message}; next: cseb report {shlex.quote(str(grid.store.folder))}"


def _power(seeds: int) -> list[str]:
    """Return the differences that few seeds can detect."""
    if seeds >= 6:
        return []
    if (least := Design(seeds, 1.0).detectable()) is None:
        return ["One seed has no spread, so no test for new seeds is possible; use 6 seeds."]
    return [
        f"With {seeds} seeds, only differences above {least:.1f} standard deviations can be detected (80 % power), and "
        f"exact tests have no p below {exact_floor(seeds):g} (6 seeds: {exact_floor(6):.3f})."
    ]
