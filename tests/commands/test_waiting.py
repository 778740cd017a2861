"""What a person sees while a command works."""

import io
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import cseb
from cseb.commands import screen
from cseb.commands.screen import Work, telling
from cseb.progress import counted, heard, tell, unheard
from tests.command_line import call
from tests.commands.test_progress import Clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def until(there: Callable[[], bool]) -> None:
    for _ in range(2000):
        if there():
            return
        time.sleep(0.005)
    raise AssertionError("it was never shown")


def test_the_time_left_follows_from_what_is_done() -> None:
    clock = Clock()
    work = Work(clock)
    work.hear("encoding sentences", 0, 400)
    clock.now = 60.0
    work.hear("encoding sentences", 100, 400)
    assert work.line() == "encoding sentences: 100 of 400, 60 s so far, about 3 min left"


def test_nothing_is_foretold_before_something_is_done_or_where_nobody_knows_of_how_much() -> None:
    clock = Clock()
    work = Work(clock)
    assert work.line() == "starting: 0 s so far"
    work.hear("reading", 0, 10)
    assert work.line() == "reading: 0 of 10, 0 s so far"
    clock.now = 5.0
    work.hear("reading", 7, 0)
    assert work.line() == "reading: 7, 5 s so far"


def test_work_that_was_interrupted_goes_on_with_its_own_clock() -> None:
    clock = Clock()
    work = Work(clock)
    work.hear("checking records", 1, 4)
    clock.now = 10.0
    work.hear("loading a task", 0, 0)
    clock.now = 12.0
    assert work.line() == "loading a task: 2 s so far"
    work.hear("checking records", 2, 4)
    assert work.line() == "checking records: 2 of 4, 12 s so far, about 12 s left"
    clock.now = 20.0
    work.hear("checking records", 0, 9)  # another one of its kind
    assert work.line() == "checking records: 0 of 9, 0 s so far"


def test_without_a_terminal_a_line_is_written_from_time_to_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "BETWEEN", 0.01)
    out = io.StringIO()
    with telling(stream=out):
        for _ in counted(range(1), "reading\x1b[2J records", 5):
            until(lambda: "of 5" in out.getvalue())
    assert out.getvalue().splitlines()[-1].startswith("cseb: reading [2J records: 0 of 5, 0 s so far")


def test_a_command_that_is_soon_over_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    for out in (io.StringIO(), Terminal()):
        with telling(stream=out):
            tell("reading records", 1, 2)
        assert out.getvalue() == ""


def test_on_a_terminal_a_line_is_drawn_and_taken_away_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "FIRST", 0.0)
    monkeypatch.setenv("COLUMNS", "120")
    out = Terminal()
    with telling(stream=out):
        tell("reading [records]", 3, 4)
        until(lambda: "reading [records]" in out.getvalue() and "3 of 4" in out.getvalue())
    assert out.getvalue().endswith("\x1b[2K")  # the last thing is to erase its line


def test_while_others_show_what_is_done_nothing_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screen, "FIRST", 0.0)
    out = Terminal()
    with telling(stream=out):
        tell("planning")
        until(lambda: "planning" in out.getvalue())
        with unheard():
            drawn = out.getvalue()
            assert drawn.endswith("\x1b[2K")
            time.sleep(0.1)
            assert out.getvalue() == drawn


def test_quiet_hears_nothing() -> None:
    out = Terminal()
    with telling(True, stream=out):
        assert heard() is None
    assert out.getvalue() == ""


def test_a_stream_that_takes_nothing_stops_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        tried = 0

        def write(self, text: str) -> int:
            self.tried += 1
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(screen, "BETWEEN", 0.001)
    out = Full()
    with telling(stream=out):
        until(lambda: out.tried > 0)


def test_commands_report_progress_and_print_the_same_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What is drawn of them is the same, however it is waited for."""
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("".join(f"sentence number {number}\n" for number in range(200_000)))
    monkeypatch.setattr(screen, "BETWEEN", 0.005)
    told = call("data", "sample", str(corpus), "--size", "3")
    assert told.stdout.splitlines() == cseb.sample(str(corpus), size=3)
    assert f"cseb: reading {corpus}"[:30] in told.stderr


def test_a_program_that_is_interrupted_ends_at_once() -> None:
    """The thread that shows must not keep a process alive."""
    script = "from cseb.commands.screen import telling\nwith telling():\n    raise SystemExit(3)\n"
    assert subprocess.run([sys.executable, "-c", script], timeout=60, check=False).returncode == 3
