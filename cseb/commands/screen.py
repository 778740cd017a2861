"""Print the output and the progress of commands, safe for a terminal; a full disk is one line."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import typer

from cseb.progress import listening
from cseb.text import duration, plain, shown


def say(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print text without control codes. Raises: OSError for standard output; a full standard error is ignored."""
    if not err:
        typer.echo(shown(text), nl=nl)
        return
    with suppress(OSError):
        typer.echo(shown(text), err=True, nl=nl)


def say_folded(text: str, *, err: bool = False) -> None:
    """Print a long text, wrapped between words on a terminal. Raises: OSError for standard output."""
    say(folded(text) if (sys.stderr if err else sys.stdout).isatty() else text, err=err)


def folded(text: str) -> str:
    """Wrap long lines to the width of the terminal, indented to where their last column starts."""
    width = shutil.get_terminal_size().columns
    return "\n".join(
        textwrap.fill(line, width, subsequent_indent=" " * _hang(line), break_long_words=False, break_on_hyphens=False)
        for line in text.splitlines()
    )


def _hang(line: str) -> int:
    """Return where the text of a list item, or of the last column, starts."""
    if line.lstrip().startswith("- "):
        return line.index("- ") + 2
    return len(line) - len(line.rsplit("  ", 1)[-1].lstrip()) if "  " in line else 0


def pour(lines: Iterable[str]) -> None:
    """Print sentences: unchanged into a file or a pipe, without control codes on a terminal. Raises: OSError."""
    text = "".join(f"{line}\n" for line in lines)
    if sys.stdout.isatty():
        say(text, nl=False)
    else:
        typer.echo(text.encode(), nl=False)


def write(text: str, out: Path | None) -> None:
    """Print text, or write it to a file, complete or not at all. Raises: BadResults."""
    if out is None or str(out) == "/dev/stdout":
        say(text, nl=False)
        return
    from cseb.data.files import write_beside

    write_beside(out, text.encode(errors="backslashreplace"))
    say(f"written to {out}")


def open_streams() -> None:
    """Prepare the standard streams: a closed one ignores output, characters outside its encoding are escaped."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 (for the whole process)
        elif hasattr(stream, "reconfigure"):
            # With PYTHONUNBUFFERED, a write may be partial without an error.
            if name == "stdout" and isinstance(stream.buffer, io.RawIOBase):
                stream = sys.stdout = io.TextIOWrapper(io.BufferedWriter(stream.detach()), stream.encoding)
            stream.reconfigure(errors="backslashreplace")


FIRST = 2.0  # seconds before anything is shown: most commands are over by then
BETWEEN = 30.0  # seconds between two lines where there is no terminal
MOST = 30 * 86_400.0  # seconds; a longer estimate is not shown


@dataclass(slots=True)
class Work:
    """The work that was reported last. total: 0 if it is unknown.

    begun: the start of each kind of work, by `clock`; one that interrupts another does not restart its clock.
    """

    clock: Callable[[], float] = time.monotonic
    what: str = "starting"
    done: int = 0
    total: int = 0
    begun: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.begun[self.what] = self.clock()

    def hear(self, what: str, done: int, total: int) -> None:
        """Store a report; called up to a million times a second."""
        if what is not self.what and what != self.what:
            self.begun.setdefault(what, self.clock())
        if not done:  # the same again, from the start
            self.begun[what] = self.clock()
        self.what, self.done, self.total = what, done, total

    def line(self) -> str:
        """Return `encoding sentences: 12,000 of 108,107, 62 s so far, about 8 min left`; "" if nothing is done."""
        what, done, total = self.what, self.done, self.total
        if not what:
            return ""
        elapsed = self.clock() - self.begun[what]
        count = f"{done:,}{f' of {total:,}' if total else ''}, " if done or total else ""
        left = elapsed * (total - done) / done if 0 < done <= total else MOST
        rest = f", about {duration(left)} left" if left < MOST else ""
        return f"{plain(what)}: {count}{duration(elapsed)} so far{rest}"


@contextmanager
def telling(quiet: bool = False, *, stream: IO[str] | None = None) -> Iterator[None]:
    """Show progress on standard error: the current work on a terminal, a line every 30 seconds elsewhere."""
    if quiet:
        yield
        return
    work, out = Work(), stream or sys.stderr
    if out.isatty():
        with _last_line(work, out) as hear, listening(hear):
            yield
    else:
        with listening(work.hear), lines(work.line, out):
            yield


@contextmanager
def lines(line: Callable[[], str], stream: IO[str] | None = None) -> Iterator[None]:
    """Write the result of `line` every 30 seconds, by default on standard error; "" is left out."""
    over = threading.Event()

    def write() -> None:
        with suppress(OSError, ValueError):  # a full disk, a closed pipe
            while not over.wait(BETWEEN):
                if message := line():
                    out = stream or sys.stderr
                    out.write(f"cseb: {shown(message)}\n")
                    out.flush()

    thread = threading.Thread(target=write, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


@contextmanager
def _last_line(work: Work, stream: IO[str]) -> Iterator[Callable[[str, int, int], None]]:
    """Yield a function for reports, which are drawn in the last line of a terminal; an empty one erases it."""
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    def line() -> Text:
        return Text(work.line(), no_wrap=True, overflow="ellipsis")

    def start() -> threading.Timer:
        timer = threading.Timer(FIRST, live.start)
        timer.daemon = True
        timer.start()
        return timer

    live = Live(
        get_renderable=line,
        console=Console(file=stream, highlight=False),
        transient=True,
        redirect_stdout=False,  # standard output is what it is
        redirect_stderr=False,
    )
    timer = start()

    def hear(what: str, done: int, total: int) -> None:
        nonlocal timer
        if not what:
            timer.cancel()
            live.stop()
        elif not work.what:
            timer = start()
        work.hear(what, done, total)

    try:
        yield hear
    finally:
        timer.cancel()
        live.stop()
