"""The display of a running grid: a live table on a terminal, lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from statistics import fmean
from typing import IO, Any, Protocol, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from cseb.commands.waiting import lines as written
from cseb.launchers.events import Broken, Event, Finished, Started, Watch
from cseb.records.progress import Progress
from cseb.records.record import Record, Select
from cseb.text import duration, percent, plain, shown

CENTURY = 3e9  # seconds; what is said to take longer is no forecast


class Cell(Protocol):
    """The fields of a job that the display shows."""

    @property
    def label(self) -> str: ...  # noqa: D102 (the method, as typed)
    @property
    def fraction(self) -> float: ...  # noqa: D102
    @property
    def seed(self) -> int: ...  # noqa: D102


@dataclass(slots=True)
class Board:
    """The state of every job of the grid, updated by events; another thread may draw it meanwhile.

    Attributes:
        jobs: by key.
        done: keys that have a record.
        seconds: expected seconds of each job, None if unknown.
        workers: jobs at a time.
        clock: returns the time in seconds.
        failed: keys of failed jobs.
        running: progress of running jobs.
        since: start of each running job, by `clock`.
    """

    jobs: Mapping[str, Cell]
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

    def elapsed(self, key: str) -> float:
        """Seconds a running job has taken so far."""
        return self.clock() - self.since[key]

    def seconds_left(self) -> float | None:
        """Seconds until the grid is finished, None while nothing is known: all jobs' expected time over the workers."""
        ended, running = self.done | self.failed, dict(self.running)
        expected = {key: self._expected(key) for key in self.jobs if key not in ended}
        lengths = [seconds for seconds in expected.values() if seconds is not None] or [
            self.elapsed(key) * seen.steps / seen.step for key, seen in running.items() if seen.step
        ]
        if not lengths:
            return None if expected else 0.0
        typical, total = fmean(lengths), 0.0
        for key, seconds in expected.items():
            whole = typical if seconds is None else seconds
            total += max(0.0, whole - self.elapsed(key)) if key in running else whole
        return total / max(1, min(max(self.workers, len(running)), len(expected)))  # a cluster may have more

    def _expected(self, key: str) -> float | None:
        took = self._took.get(self.jobs[key].label)
        return fmean(took) if took else self.seconds.get(key)


@contextmanager
def watching(board: Board, *, quiet: bool = False, console: Console | None = None) -> Iterator[Watch]:
    """Yield a function that shows events: a live table on a terminal, lines elsewhere, only errors if quiet."""
    out = console or Console(file=_patient(sys.stdout), highlight=False)
    errors = console or Console(file=_patient(sys.stderr), highlight=False)
    printed: set[str] = set()

    def complain(event: Event, errors: Console = errors) -> None:
        if line := failure_line(board, event):
            errors.print(Text(shown(line), style="red"), soft_wrap=True)
        if isinstance(event, Broken) and event.detail and event.detail not in printed:
            printed.add(event.detail)  # thirty jobs may share one bug; one traceback is enough
            errors.print(Text(shown(event.detail.rstrip())), soft_wrap=True)

    def lines(event: Event) -> None:
        board.update(event)
        complain(event)
        if not quiet and isinstance(event, Finished) and event.record.status == "done":
            out.print(Text(shown(finished_line(board, event.record))), soft_wrap=True)

    if quiet:
        yield lines
        return
    if not out.is_terminal:
        with written(lambda: _outlook(board)):  # a job may take hours
            yield lines
        return
    with Live(
        get_renderable=lambda: picture(board), console=out, refresh_per_second=4
    ) as live:  # errors go above the picture

        def show(event: Event) -> None:
            board.update(event)
            complain(event, live.console)

        yield show


class _Patient:
    """A stream that drops what cannot be written, so that no job fails because of a full disk or a closed pipe."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()


def _patient(stream: IO[str]) -> IO[str]:
    return cast("IO[str]", _Patient(stream))


def finished_line(board: Board, record: Record) -> str:
    """Return `[ 3/30] simcse 0.1 % seed 2: best 56.31 last 55.90 dev 60.10 (7.9 s)`."""
    shown = [f"{select} {points(mean_points(record, select))}" for select in _selections(record)]
    dev = [score for _, _, score in record.trace.curve if score is not None] if record.trace else []
    shown += [f"dev {points(max(dev))}"] if dev else []
    return f"{_place(board, record.key)}: {' '.join(shown) or 'no scores'} ({record.cost.seconds:.1f} s)"


def failure_line(board: Board, event: Event) -> str:
    """Return one line for a job without scores, "" for any other event."""
    match event:
        case Broken(key, kind, reason):
            return f"{_place(board, key)}: {'crashed' if kind == 'died' else 'failed'}: {reason}"
        case Finished(key, record) if record.status == "failed":
            why = record.failure.reason if record.failure else "no reason given"
            return f"{_place(board, key)}: failed: {why}"
    return ""


def mean_points(record: Record, select: Select) -> float | None:
    """Return the mean over the tasks with the protocol of the first one; None if a score is missing."""
    scores = [score for score in record.scores if score.select == select]
    values = [score.value for score in scores if score.protocol == scores[0].protocol]
    scored = [value for value in values if value is not None]
    return fmean(scored) if scored and len(scored) == len(values) else None


def points(value: float | None) -> str:
    """Return the score with two digits; an encoder without a score has collapsed."""
    return "collapsed" if value is None else f"{value:.2f}"


def picture(board: Board) -> RenderableType:
    """Return the display: running jobs and the expected end first, then all cells."""
    legend = Text("+ running, ! failed, done / seeds", style="dim")
    return Group(_running(board), Text(_outlook(board), style="bold"), _grid(board), legend)


def _grid(board: Board) -> Table:
    """Return the table of methods by fractions; a cell has `done/seeds`, `+` running, `!` failed."""
    fractions = sorted({job.fraction for job in board.jobs.values()})
    cells: dict[tuple[str, float], list[str]] = {}
    for key, job in board.jobs.items():
        cells.setdefault((job.label, job.fraction), []).append(key)
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("method", overflow="ellipsis")  # the one that may shrink: it is not no_wrap
    for fraction in fractions:
        table.add_column(percent(fraction), no_wrap=True, justify="right")
    for label in dict.fromkeys(label for label, _ in cells):
        table.add_row(Text(plain(label)), *(_cell(board, cells.get((label, fraction), [])) for fraction in fractions))
    return table


def _cell(board: Board, keys: Sequence[str]) -> Text:
    done, running, failed = (sum(key in group for key in keys) for group in (board.done, board.running, board.failed))
    cell = Text()
    if running:
        cell.append(f"+{running} ", style="yellow")
    if failed:
        cell.append(f"!{failed} ", style="red")
    return cell.append(f"{done}/{len(keys)}", style="green" if done == len(keys) else "")


def _running(board: Board) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(overflow="ellipsis")
    for _ in range(5):
        table.add_column(no_wrap=True, justify="right")
    for key, progress in list(board.running.items()):
        job = board.jobs[key]
        step = f"step {progress.step}/{progress.steps}" if progress.steps else "starting"
        loss = "" if progress.loss is None else f"loss {progress.loss:.3f}"
        dev = "" if progress.dev is None else f"dev {progress.dev:.2f}"
        table.add_row(
            Text(plain(job.label)),
            f"{percent(job.fraction)} seed {job.seed}",
            duration(board.elapsed(key)),
            step,
            loss,
            dev,
        )
    return table


def _outlook(board: Board) -> str:
    left = board.seconds_left()
    total, done, failed = len(board.jobs), len(board.done), len(board.failed)
    message = f"{done} of {total} done" + (f", {failed} failed" if failed else "")
    if left and left < CENTURY:
        message += f"; about {duration(left)} left, until {datetime.now() + timedelta(seconds=left):%H:%M}"
    return message


def _selections(record: Record) -> list[Select]:
    """Return the checkpoints that were scored, `best` first."""
    order: tuple[Select, ...] = ("best", "last")
    return [select for select in order if any(score.select == select for score in record.scores)]


def _place(board: Board, key: str) -> str:
    total, job = len(board.jobs), board.jobs[key]
    count = len(board.done) + len(board.failed)
    return f"[{count:>{len(str(total))}}/{total}] {job.label} {percent(job.fraction)} seed {job.seed}"
