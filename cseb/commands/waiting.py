"""The progress display of commands, on standard error after two seconds."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING

from cseb.progress import listening
from cseb.text import duration, plain, shown

if TYPE_CHECKING:
    from rich.progress import Progress

FIRST = 2.0  # seconds before anything is shown: most commands are over by then
BETWEEN = 30.0  # seconds between two lines where there is no terminal
FRAME = 0.25  # seconds between two pictures on a terminal
MOST = 30 * 86_400.0  # seconds; what is said to take longer is no forecast


@dataclass(slots=True)
class Work:
    """The work that was reported last. total: 0 if it is unknown.

    begun: the start of each kind of work, by `clock`; one that interrupts another does not restart its clock.
    """

    clock: Callable[[], float] = time.monotonic
    what: str = "starting"
    done: int = 0
    total: int = 0
    since: float = field(init=False)
    begun: dict[str, float] = field(default_factory=dict)
    reached: dict[str, int] = field(default_factory=dict)
    hidden: threading.Event = field(default_factory=threading.Event)  # whether nothing is drawn now

    def __post_init__(self) -> None:
        self.since = self.clock()
        self.hidden.set()

    def hear(self, what: str, done: int, total: int) -> None:
        """Store a report; called up to a million times a second."""
        if what is not self.what and what != self.what:
            self.reached[self.what] = self.done
            self.since = self.begun.setdefault(what, self.clock())
            self.done = self.reached.get(what, 0)
        if done < self.done:  # the same again, from the start
            self.since = self.begun[what] = self.clock()
        self.what, self.done, self.total = what, done, total
        if not what:
            self.hidden.wait(4 * FRAME)  # two pictures must not be drawn into one another

    @property
    def elapsed(self) -> float:
        """Return the seconds since this kind of work began."""
        return self.clock() - self.since

    @property
    def left(self) -> float | None:
        """Return the expected seconds until the end; None if unknown."""
        if not 0 < self.done <= self.total:
            return None
        left = self.elapsed * (self.total - self.done) / self.done
        return left if left < MOST else None

    def line(self) -> str:
        """Return `encoding sentences: 12,000 of 108,107, 62 s so far, about 8 min left`; "" while hidden."""
        return self.what and f"{plain(self.what)}: {', '.join(filter(None, (self.count(), self.time())))}"

    def count(self) -> str:
        """Return `12,000 of 108,107`, "" while nothing is counted."""
        of = f" of {self.total:,}" if self.total else ""
        return f"{self.done:,}{of}" if self.done or of else ""

    def time(self) -> str:
        """Return `62 s so far, about 8 min left`."""
        left = "" if self.left is None else f", about {duration(self.left)} left"
        return f"{duration(self.elapsed)} so far{left}"


@contextmanager
def telling(quiet: bool = False, *, stream: IO[str] | None = None) -> Iterator[None]:
    """Show progress on standard error: a bar on a terminal, a line every 30 seconds elsewhere."""
    if quiet:
        yield
        return
    work, out = Work(), stream or sys.stderr
    with listening(work.hear), _beside(_bars, work, out) if out.isatty() else lines(work.line, out):
        yield


@contextmanager
def lines(line: Callable[[], str], stream: IO[str] | None = None) -> Iterator[None]:
    """Write the result of `line` every 30 seconds, by default on standard error; "" is left out."""

    def write(over: threading.Event) -> None:
        while not over.wait(BETWEEN):
            if message := line():
                out = stream or sys.stderr
                out.write(f"cseb: {shown(message)}\n")
                out.flush()

    with _beside(write):
        yield


@contextmanager
def _beside(show: Callable[..., None], *arguments: object) -> Iterator[None]:
    """Run `show` in a thread with an event for its end. Errors of writing are ignored."""
    over = threading.Event()

    def run() -> None:
        with suppress(OSError, ValueError):  # a full disk, a closed pipe
            show(*arguments, over)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _bars(work: Work, stream: IO[str], over: threading.Event) -> None:
    """Draw a bar until the work is over; none while another display is shown."""
    if over.wait(FIRST):
        return
    bar: Progress | None = None
    try:
        while True:
            if bar is None and work.what:
                work.hidden.clear()
                bar = _bar(stream)
                bar.start()
            elif bar is not None and not work.what:
                bar.stop()
                bar = None
                work.hidden.set()
            if bar is not None:
                [task] = bar.task_ids
                total = work.total or None
                bar.update(
                    task,
                    description=plain(work.what),
                    completed=work.done,
                    total=total,
                    count=work.count(),
                    time=work.time(),
                )
                bar.refresh()
            if over.wait(FRAME):
                return
    finally:
        if bar is not None:
            bar.stop()


def _bar(stream: IO[str]) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    bar = Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[count]}", markup=False),
        TextColumn("{task.fields[time]}", markup=False),
        console=Console(file=stream, highlight=False),
        auto_refresh=False,  # `_bars` says when
        transient=True,
        redirect_stdout=False,  # standard output is what it is
        redirect_stderr=False,
    )
    bar.add_task("", total=None, count="", time="")
    return bar
