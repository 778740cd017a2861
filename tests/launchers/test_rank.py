"""One of several processes: which of them is heard, and when it ends although nothing tells its main thread."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cseb.launchers import rank
from cseb.launchers.signals import STOPPED_FILE

Ends = Callable[[], int]


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds that were asked for, none of which is slept."""
    seconds: list[float] = []
    monkeypatch.setattr(rank.time, "sleep", seconds.append)
    return seconds


@pytest.fixture(autouse=True)
def _place(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """This process as rank 1 of a launcher; what it changes of signals is put back."""
    monkeypatch.setenv("TORCHELASTIC_RUN_ID", str(os.getppid()))
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setattr(rank, "_exit_with", lambda _: None)  # asked alone, below: its thread would outlive the test
    before = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(before)
    yield
    signal.set_wakeup_fd(before)


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> Ends:
    """The code with which the process would have ended; waits until it would have."""
    over, codes = threading.Event(), list[int]()

    def leave(code: int) -> None:
        codes.append(code)
        over.set()

    def code() -> int:
        assert over.wait(30)
        return codes[0]

    monkeypatch.setattr(rank.os, "_exit", leave)
    return code


@pytest.mark.parametrize(("place", "code", "seconds"), [("0", 2, []), ("1", 2, [rank.PATIENCE])])
def test_a_mistake_is_told_by_the_first_while_the_others_wait_to_be_ended(
    monkeypatch: pytest.MonkeyPatch, waited: list[float], place: str, code: int, seconds: list[float]
) -> None:
    monkeypatch.setenv("RANK", place)
    with pytest.raises(SystemExit) as end, rank.one_of_several():
        raise SystemExit(code)
    assert (end.value.code, waited) == (code, seconds)


@pytest.mark.parametrize("code", [None, 0, rank.INTERRUPTED])
def test_an_end_that_is_no_mistake_waits_for_nobody(waited: list[float], code: int | None) -> None:
    with pytest.raises(SystemExit), rank.one_of_several():
        raise SystemExit(code)
    assert waited == []


def test_an_error_waits_longer_for_it_may_be_that_of_a_connection_to_one_that_was_killed(waited: list[float]) -> None:
    with pytest.raises(OSError, match="connection lost"), rank.one_of_several():
        raise OSError("connection lost")
    assert waited == [2 * rank.PATIENCE]


def test_a_signal_ends_a_process_whose_main_thread_hears_nothing(waited: list[float], ended: Ends) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: None)  # as in C++, where no handler runs
    try:
        with rank.one_of_several():
            os.kill(os.getpid(), signal.SIGTERM)
            assert ended() == rank.INTERRUPTED
    finally:
        signal.signal(signal.SIGTERM, before)
    assert waited == [rank.PATIENCE]


def test_it_ends_when_its_parent_is_gone(monkeypatch: pytest.MonkeyPatch, waited: list[float], tmp_path: Path) -> None:
    """It removes the folder that a killed parent has left."""
    monkeypatch.undo()
    (tmp_path / "left").mkdir()
    monkeypatch.setenv(STOPPED_FILE, str(tmp_path / "left" / "stopped"))
    parents = iter([7, 7, 1])
    monkeypatch.setattr(rank.os, "getppid", lambda: next(parents))
    monkeypatch.setattr(rank.time, "sleep", waited.append)

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(rank.os, "_exit", leave)
    with pytest.raises(SystemExit) as end:
        rank._exit_with(7)
    assert (end.value.code, waited) == (1, [1, 1])
    assert not (tmp_path / "left").exists()
