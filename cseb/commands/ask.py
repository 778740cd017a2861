"""A dialogue in a terminal: two pairs of sentences, one key an answer."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from cseb.advice.questions import FIRST, SECOND, SKIPPED, Answers
from cseb.commands.screen import say
from cseb.progress import unheard
from cseb.text import shown

try:
    import termios
    import tty
except ImportError:  # no POSIX terminal: answers are lines
    termios = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

UNDO, QUIT = "u", "q"
KEYS = f"{FIRST} or {SECOND}, {SKIPPED} cannot say, {UNDO} undo, {QUIT} stop for now"
CTRL_C, CTRL_D = "\x03", "\x04"


def ask(answers: Answers, pairs: Sequence[tuple[str, str]]) -> None:
    """Ask what has no answer yet; every answer is on the disk before the next question.

    Stopped, the same command asks on. Raises: KeyboardInterrupt if the user stops.
    """
    with unheard(), _key_by_key():
        say(f"Which two sentences belong together more? Keys: {KEYS}.")
        order: list[int] = []
        while (number := answers.next) is not None:
            said = _asked(answers, pairs, number)
            if said == QUIT:
                raise KeyboardInterrupt
            if said == UNDO:
                if order:
                    answers.answer(order.pop(), "")
                continue
            answers.answer(number, said)
            order.append(number)


def _asked(answers: Answers, pairs: Sequence[tuple[str, str]], number: int) -> str:
    question = answers.questions[number]
    say(f"\n{number + 1} of {len(answers.questions)}")
    for key, place in ((FIRST, question.first), (SECOND, question.second)):
        left, right = pairs[place]
        say(f"  {key}  {shown(left)}\n     {shown(right)}")
    while (key := _key()) not in (FIRST, SECOND, SKIPPED, UNDO, QUIT):
        say(f"{KEYS}?")
    return key


def _key() -> str:
    """One key from a terminal, without Enter; the first letter of a line from anywhere else."""
    key = (sys.stdin.read(1) if sys.stdin.isatty() and termios is not None else _line()).lower()
    return QUIT if key in (CTRL_C, CTRL_D, "") else key


def _line() -> str:
    line = sys.stdin.readline()
    return (line.strip() or " ")[:1] if line else ""


@contextmanager
def _key_by_key() -> Iterator[None]:
    """A terminal that gives each key at once and does not show it; afterwards it is as before.

    For the whole dialogue, because switching it loses keys that are pressed meanwhile.
    """
    if not sys.stdin.isatty() or termios is None:
        yield
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    try:
        tty.setcbreak(handle)
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
