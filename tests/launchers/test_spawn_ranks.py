"""Processes that one command starts: when one of them ends, all do, none is left behind, and one line says why."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cseb.launchers import spawn_ranks as several
from cseb.launchers.claims import folder_of
from cseb.records.store import Store
from tests.launchers.running import alive, free_port, until
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
    command = [*RUN, "--methods", "simcse", "--seeds", "1", "--steps", "100000", "--processes", "2", "--quiet"]
    with subprocess.Popen([*command, "--results", tmp_path], stderr=subprocess.PIPE, text=True) as parent:
        try:
            beats = folder_of(tmp_path)
            until(lambda: any('"step": 0' not in file.read_text() for file in beats.glob("*.json")), 120)
            children = psutil.Process(parent.pid).children()
            next(each for each in children if each.environ()[several.RANK] == str(victim)).kill()
            _, said = parent.communicate(timeout=120)
        finally:
            parent.kill()
    assert parent.returncode == 1
    assert said == f"cseb: process {victim} of 2 was killed by SIGKILL; out of memory? try fewer --processes\n"


@pytest.mark.slow
def test_a_process_that_comes_late_trains_the_same_jobs(tmp_path: Path) -> None:
    """It finds the first job of the others running, and an untrained one done."""
    address = {"MASTER_ADDR": "localhost", "MASTER_PORT": str(free_port()), "OMP_NUM_THREADS": "1"}
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
