"""The dialogue of `cseb recommend --ask` in a terminal: keys without Enter, undo, stop, and going on."""

from __future__ import annotations

import os
import pty
import termios
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cseb.advice.questions import ASKED, MOST_PAIRS, Answers
from cseb.commands.application import app
from tests.standin_race import LINES, METHODS, stand_in


@dataclass
class Terminal:
    """Both ends of a terminal: `keyboard` is pressed, `screen` is what the command reads from."""

    keyboard: int
    screen: int

    def modes(self) -> list[object]:
        return termios.tcgetattr(self.screen)

    @property
    def shows_keys(self) -> bool:
        return bool(termios.tcgetattr(self.screen)[3] & termios.ECHO)

    def press(self, keys: str) -> None:
        """Press keys one after the other, once the dialogue has begun."""

        def typed() -> None:
            until = time.monotonic() + 60
            while self.shows_keys and time.monotonic() < until:
                time.sleep(0.01)
            os.write(self.keyboard, keys.encode())

        threading.Thread(target=typed, daemon=True).start()


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    keyboard, screen = pty.openpty()
    with os.fdopen(screen, closefd=False) as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield Terminal(keyboard, screen)
    os.close(keyboard)
    os.close(screen)


def test_a_user_answers_takes_back_stops_and_goes_on(
    terminal: Terminal,
    tiny: Callable[[str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in(monkeypatch)
    monkeypatch.chdir(tmp_path)
    Path("my.txt").write_text("\n".join(LINES))
    command = ["recommend", "my.txt", "--encoder", str(tiny("bert")), "--ask", "20", "--methods", ",".join(METHODS[:2]),
               "--workers", "2", "--linear", "blas", "--device", "cpu"]  # fmt: skip

    def answers() -> list[str]:
        found = Answers.read(Path("my.recommend"), MOST_PAIRS)
        assert found is not None
        return list(found.answers)

    before = terminal.modes()
    terminal.press("x1u2sq")
    assert app(command, standalone_mode=False) == 130
    shown = capsys.readouterr().out
    assert "2 of 20" in shown
    assert "1 or 2, s cannot say, u undo, q stop for now?" in shown  # to x, which is none of these
    assert answers() == ["2", "s", *[""] * 18]
    assert terminal.modes() == before

    terminal.press("\x04")  # Ctrl-D
    assert app(command, standalone_mode=False) == 130
    assert "\n3 of 20" in (asked := capsys.readouterr().out)
    assert "\n1 of 20" not in asked

    terminal.press("12" * 9)
    assert app(command, standalone_mode=False) is None
    assert answers() == ["2", "s", *["1", "2"] * 9]
    assert "by agreement with your answers" in capsys.readouterr().out
    assert terminal.modes() == before
    assert (tmp_path / "my.recommend" / ASKED).is_file()
