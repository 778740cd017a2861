"""Processes that one command starts: nothing waits for ever, none is left behind, and what went wrong is one line."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
import torch
from torch import Tensor
from typer.testing import CliRunner

from cseb.api import hosts
from cseb.api.grid import PlannedGrid
from cseb.cli import app
from cseb.encoder.distributed import DistributedContext, distributed_context
from cseb.errors import BadBenchmark, BadData
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.grid import Grid
from cseb.launchers import spawn_ranks as several
from cseb.launchers.events import Broken, Summary
from cseb.launchers.heartbeat import beating, folder_of
from cseb.launchers.job_runner import JobRunner
from cseb.launchers.local import Local
from cseb.records.store import Store
from tests import standin_jobs
from tests.stderr_lines import without_progress

SMALL = (
    *("run", "microworld", "--methods", "simcse", "--fractions", "0.001", "--seeds", "1", "--tasks", "mw-captions"),
    *("--device", "cpu"),
)
PLACE = {several.RANK: "0", several.WORLD_SIZE: "2", "MASTER_ADDR": "localhost"}


def place(monkeypatch: pytest.MonkeyPatch, names: dict[str, str]) -> None:
    for name in (several.RANK, several.WORLD_SIZE, "MASTER_ADDR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in names.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize(
    ("names", "wrong"),
    [
        ({"RANK": "1"}, "RANK=1 and WORLD_SIZE= in"),
        ({"WORLD_SIZE": "2", "MASTER_ADDR": "localhost"}, "RANK= and WORLD_SIZE=2 in"),
        (PLACE | {"WORLD_SIZE": "abc"}, "whole numbers"),
        (PLACE | {"RANK": "2"}, "RANK below WORLD_SIZE"),
        (PLACE | {"RANK": "-1"}, "whole numbers"),
        ({"RANK": "0", "WORLD_SIZE": "2"}, "no MASTER_ADDR"),
    ],
)
def test_a_place_that_cannot_be_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, names: dict[str, str], wrong: str
) -> None:
    place(monkeypatch, names)
    ran = CliRunner().invoke(app, [*SMALL, "--results", str(tmp_path / "results")])
    assert ran.exit_code == 2
    assert wrong in ran.stderr
    assert len(without_progress(ran.stderr)) == 1
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    ("names", "count"), [({}, 1), ({"RANK": "0", "WORLD_SIZE": "1"}, 1), (PLACE | {"RANK": "1"}, 2)]
)
def test_a_place_that_can_be_is_taken(monkeypatch: pytest.MonkeyPatch, names: dict[str, str], count: int) -> None:
    place(monkeypatch, names)
    assert several.started() == count
    assert distributed_context() == DistributedContext(count - 1, count)


@pytest.mark.parametrize("options", [("--workers", "abc"), ("--workers", "2"), ("--jobs-per-gpu", "3")])
def test_several_processes_take_one_job_at_a_time(tmp_path: Path, options: tuple[str, str]) -> None:
    ran = CliRunner().invoke(app, [*SMALL, "--processes", "2", "--dry-run", "--results", str(tmp_path), *options])
    assert ran.exit_code == 2
    assert without_progress(ran.stderr) == [
        f"cseb: 2 processes that share each batch run one job at a time; leave {' '.join(options)} out"
    ]


def test_several_processes_may_be_told_what_they_do_anyway() -> None:
    assert [hosts.workers_of(text, 1, "cpu", processes=2) for text in ("auto", "1")] == [1, 1]
    with pytest.raises(BadBenchmark):
        hosts.workers_of("auto", 1, "cuda", 3, processes=2)


@pytest.mark.parametrize(("rank", "stopped", "code"), [("0", False, 1), ("1", False, 0), ("1", True, 130)])
def test_only_the_first_tells_of_failed_jobs_for_the_others_end_before_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rank: str, stopped: bool, code: int
) -> None:
    place(monkeypatch, PLACE | {"RANK": rank})
    monkeypatch.setattr(PlannedGrid, "run", lambda *_: Summary(total=1, failed=1, stopped=stopped))
    assert CliRunner().invoke(app, [*SMALL, "--results", str(tmp_path)]).exit_code == code


def test_all_processes_run_the_jobs_of_the_first_in_its_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever each of them sees: another one's heartbeats, or a record that came meanwhile."""
    protocol = replace(standin_jobs.PROTOCOL, processes=2)
    first, second, third = (replace(job, protocol=protocol) for job in standin_jobs.jobs("ok", "ok", "ok"))
    store = Store(tmp_path)
    grid = Grid(benchmarks.load("microworld"), [first, second, third], store, 1, {}, [second])
    store.prepare()
    monkeypatch.setattr("cseb.encoder.distributed.agreed", lambda *_: [first.key, third.key])
    ran: list[str] = []
    with beating(tmp_path, first, lambda _: None):
        until(lambda: any(folder_of(tmp_path).glob("*.json")))
        Local().run(JobRunner(standin_jobs.TARGET, store), grid.agreed([second]), lambda event: ran.append(event.key))
    assert list(dict.fromkeys(ran)) == [first.key, third.key]
    monkeypatch.setattr("cseb.encoder.distributed.agreed", lambda *_: ["another"])
    with pytest.raises(BadBenchmark, match="other jobs"):
        grid.agreed([second])


@pytest.mark.parametrize(("label", "kind"), [("mistake", BadData), ("bug", ZeroDivisionError), ("memory", MemoryError)])
def test_what_goes_wrong_in_one_of_several_ends_it_so_that_all_end(
    tmp_path: Path, label: str, kind: type[Exception]
) -> None:
    """Going on to its next job it would train that one with others that are still at this."""
    job = standin_jobs.job(label)
    task = JobRunner(standin_jobs.TARGET, Store(tmp_path))
    assert isinstance(task.attempt(job, lambda _: None), Broken)
    with pytest.raises(kind):
        task.attempt(replace(job, protocol=replace(job.protocol, processes=2)), lambda _: None)


def test_the_others_share_of_a_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def all_reduce(value: Tensor) -> None:
        value += 5.25

    monkeypatch.setattr(torch.distributed, "all_reduce", all_reduce)
    assert DistributedContext(0, 2).others(2.0, "cpu") == 0  # they are not connected
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    assert DistributedContext(0, 2).others(2.0, "cpu") == 5.25
    assert DistributedContext().others(2.0, "cpu") == 0


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
from cseb.launchers.signals import on_signals, stop
with on_signals(stop):
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


def until(reached: Callable[[], bool], seconds: float = 30) -> None:
    late = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < late
        time.sleep(0.05)


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_no_process_outlives_its_parent(tmp_path: Path, python: str, number: signal.Signals) -> None:
    with subprocess.Popen(starting(python, DEAF + SLEEP), stderr=subprocess.DEVNULL) as parent:
        files = [tmp_path / f"pid{rank}" for rank in "01"]
        until(lambda: all(file.exists() and file.read_text() for file in files))
        parent.send_signal(number)
        assert parent.wait(20)
    until(lambda: not any(alive(int(file.read_text())) for file in files))


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
    until(lambda: not any(alive(one.pid) for one in started))
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_process_that_comes_late_trains_the_same_jobs(tmp_path: Path) -> None:
    """It finds the first job of the others running, and an untrained one done."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        names = os.environ | PLACE | {"MASTER_PORT": str(free.getsockname()[1]), "OMP_NUM_THREADS": "1"}
    command = [
        sys.executable,
        "-m",
        "cseb",
        *SMALL,
        "--methods",
        "cls,simcse",
        "--seeds",
        "2",
        "--steps",
        "4",
        "--quiet",
    ]
    late = [*command, "--results", tmp_path / "late"]
    with subprocess.Popen(late, env=names) as first:
        time.sleep(4)
        subprocess.run(late, env=names | {several.RANK: "1"}, check=True, timeout=120)
    assert first.returncode == 0
    subprocess.run([*command, "--seeds", "1", "--processes", "2", "--results", tmp_path / "fewer"], check=True)
    found, expected = ({one.key: one.scores for one in Store(tmp_path / name).load()[0]} for name in ("late", "fewer"))
    assert len(found) == 4
    assert len(expected) == 2
    assert expected.items() <= found.items()


def real(folder: Path, *more: str) -> subprocess.Popen[str]:
    """Two processes in a training of more steps than anybody waits for."""
    command = [sys.executable, "-m", "cseb", *SMALL, "--steps", "100000", "--processes", "2", "--results", str(folder)]
    return subprocess.Popen([*command, *more], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)


def training(folder: Path) -> None:
    """Wait for its first steps."""
    beats = folder_of(folder)
    until(lambda: any('"step": 0' not in file.read_text() for file in beats.glob("*.json")), 120)


def ranks(parent: subprocess.Popen[str]) -> list[psutil.Process]:
    found = {one.environ()[several.RANK]: one for one in psutil.Process(parent.pid).children()}
    return [found[rank] for rank in "01"]
