"""Processes that one command starts: when one of them ends, all do, none is left behind, and one line says why."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from cseb.launchers import spawn_ranks as several
from cseb.launchers.claims import folder_of
from cseb.records.store import Store
from tests.launchers.running import until
from tests.world import WORLD

RUN = (
    *(sys.executable, "-m", "cseb", "run", WORLD, "--fractions", "0.01", "--tasks", "toy-captions"),
    *("--device", "cpu"),
)

# What each of two processes does in place of cseb, by its rank

PRELUDE = """
import os, signal, sys, time
from cseb.launchers.rank import one_of_several
rank = os.environ['RANK']
with one_of_several():
    exec({!r})
"""
DEAF = "signal.signal(signal.SIGTERM, lambda *_: None)\nopen(sys.argv[1] + rank, 'w').write(str(os.getpid()))\n"
SLEEP = "time.sleep(60)\n"
TELLS = """
from cseb.launchers.signals import handled_signals, stop
with handled_signals(stop):
    open(sys.argv[1] + rank, 'w').write(str(os.getpid()))
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        os.write(2, b'stopped: 0 of 1 job run\\n')
        sys.exit(130)
"""


@pytest.fixture
def python(tmp_path: Path) -> str:
    """Runs the text after `-m cseb` as a program, which gets the folder of the test."""
    made = tmp_path / "python"
    made.write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "$3" "{tmp_path}/pid"\n')
    made.chmod(0o755)
    return str(made)


def starting(python: str, program: str) -> list[str]:
    """A command that starts `program` in two processes."""
    start = f"sys.executable = {python!r}\nsys.exit(several.start(2, [{PRELUDE.format(program)!r}]))"
    return [sys.executable, "-c", f"import sys\nfrom cseb.launchers import spawn_ranks as several\n{start}"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "code", "said"),
    [
        (
            "if rank == '0': os.kill(os.getpid(), signal.SIGKILL)\nraise OSError('connection lost')",
            1,
            "cseb: process 0 of 2 was killed by SIGKILL; out of memory? try fewer --processes\n",
        ),
        (
            "if rank == '1': os.kill(os.getpid(), signal.SIGSEGV)\nraise OSError('connection lost')",
            1,
            "cseb: process 1 of 2 was killed by SIGSEGV\n",
        ),
        (
            "if rank == '1': time.sleep(3); os.kill(os.getpid(), signal.SIGKILL)\n" + TELLS,
            1,
            "cseb: process 1 of 2 was killed by SIGKILL; out of memory? try fewer --processes\n",
        ),
        ("if rank == '1': sys.exit('it broke')\n" + DEAF + SLEEP, 1, "it broke\n"),
        ("if rank == '0': sys.exit(2)\n" + DEAF + SLEEP, 2, ""),
        ("sys.exit(0)", 0, ""),
    ],
    ids=["first killed", "second killed", "second killed while the first works", "second broke", "first broke", "done"],
)
def test_a_process_that_fails_ends_all_and_it_alone_is_heard(python: str, program: str, code: int, said: str) -> None:
    begun = time.monotonic()
    ran = subprocess.run(starting(python, program), capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr, ran.stdout) == (code, said, "")
    assert time.monotonic() - begun < 30


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_its_parent(tmp_path: Path, python: str, number: signal.Signals) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    with subprocess.Popen(starting(python, DEAF + SLEEP), stderr=subprocess.DEVNULL, env=environment) as parent:
        files = [tmp_path / f"pid{rank}" for rank in "01"]
        until(lambda: all(file.exists() and file.read_text() for file in files))
        parent.send_signal(number)
        assert parent.wait(20)
    until(lambda: not any(alive(int(file.read_text())) for file in files))
    until(lambda: not list(temporary.iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize("all_of_them", [False, True])
def test_a_stopped_parent_lets_the_first_say_so(tmp_path: Path, python: str, all_of_them: bool) -> None:
    """A scheduler may send SIGTERM to the parent alone or to every process, in any order."""
    with subprocess.Popen(starting(python, TELLS), stderr=subprocess.PIPE, text=True) as parent:
        files = [tmp_path / f"pid{rank}" for rank in "01"]
        until(lambda: all(file.exists() and file.read_text() for file in files))
        for pid in [int(file.read_text()) for file in files if all_of_them]:
            os.kill(pid, signal.SIGTERM)
        parent.send_signal(signal.SIGTERM)
        _, said = parent.communicate(timeout=30)
    assert "stopped: 0 of 1 job run" in said.splitlines()


@pytest.mark.slow
@pytest.mark.parametrize("victim", [0, 1])
def test_a_process_killed_while_it_trains_is_one_line(tmp_path: Path, victim: int) -> None:
    with real(tmp_path, "--quiet") as parent:
        training(tmp_path)
        ranks(parent)[victim].kill()
        _, said = parent.communicate(timeout=120)
    assert parent.returncode == 1
    assert said == f"cseb: process {victim} of 2 was killed by SIGKILL; out of memory? try fewer --processes\n"


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 130), (signal.SIGKILL, -signal.SIGKILL)])
def test_training_ends_with_its_parent(tmp_path: Path, number: signal.Signals, code: int) -> None:
    with real(tmp_path) as parent:
        training(tmp_path)
        started = ranks(parent)
        parent.send_signal(number)
        _, said = parent.communicate(timeout=120)
    assert parent.returncode == code
    until(lambda: not any(alive(process.pid) for process in started))
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_process_that_comes_late_trains_the_same_jobs(tmp_path: Path) -> None:
    """It finds the first job of the others running, and an untrained one done."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free.getsockname()[1]), "OMP_NUM_THREADS": "1"}
    names = os.environ | address | {several.RANK: "0", several.WORLD_SIZE: "2"}
    command = [*RUN, "--methods", "cls,simcse", "--seeds", "2", "--steps", "4", "--quiet"]
    late = [*command, "--results", tmp_path / "late"]
    with subprocess.Popen(late, env=names) as first:
        time.sleep(4)
        subprocess.run(late, env=names | {several.RANK: "1"}, check=True, timeout=120)
    assert first.returncode == 0
    subprocess.run([*command, "--seeds", "1", "--processes", "2", "--results", tmp_path / "fewer"], check=True)
    result, expected = (
        {record.key: record.scores for record in Store(tmp_path / name).load()[0]} for name in ("late", "fewer")
    )
    assert len(result) == 4
    assert len(expected) == 2
    assert expected.items() <= result.items()


@contextmanager
def real(folder: Path, *more: str) -> Iterator[subprocess.Popen[str]]:
    """Two processes in a training of more steps than anybody waits for; a test that fails does not wait either."""
    command = [*RUN, "--methods", "simcse", "--seeds", "1", "--steps", "100000", "--processes", "2"]
    command += ["--results", str(folder), *more]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as parent:
        try:
            yield parent
        finally:
            parent.kill()


def training(folder: Path) -> None:
    """Wait for its first steps."""
    beats = folder_of(folder)
    until(lambda: any('"step": 0' not in file.read_text() for file in beats.glob("*.json")), 120)


def ranks(parent: subprocess.Popen[str]) -> list[psutil.Process]:
    children = {process.environ()[several.RANK]: process for process in psutil.Process(parent.pid).children()}
    return [children[rank] for rank in "01"]
