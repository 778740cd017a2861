"""Whether a process has ended: only what is certain is said."""

import os
import subprocess
import sys

import pytest

from cseb.launchers.process_identity import began, ended, machine


@pytest.fixture(autouse=True)
def _linux() -> None:
    if not machine():
        pytest.skip("this system does not say which one it is")


def test_a_living_process_has_not_ended() -> None:
    assert began(os.getpid()) > 0
    assert not ended(os.getpid(), machine(), began(os.getpid()))


def test_a_finished_process_and_a_reused_number_have_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    start = began(child.pid)
    assert not ended(child.pid, machine(), start)
    child.communicate(b"\n")
    assert ended(child.pid, machine(), start)
    assert ended(os.getpid(), machine(), began(os.getpid()) + 1)


def test_nothing_is_said_of_another_machine_or_an_unknown_start() -> None:
    assert not ended(os.getpid(), "elsewhere", 1)
    assert not ended(os.getpid(), "", 1)
    assert not ended(os.getpid(), machine(), 0)
