"""Which jobs are alive: by clocks that jump, of processes that have ended, and from files that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

import pytest

from cseb.experiment.planned_jobs import plan_text
from cseb.launchers import heartbeat, pulses
from cseb.launchers import process_identity as alive
from cseb.launchers.claims import launching, next_job
from cseb.launchers.heartbeat import beating, folder_of
from cseb.launchers.pulses import Pulses
from cseb.records.progress import Progress
from cseb.records.store import Store
from tests import standin_jobs
from tests.launchers.beats import LEFT, ROOT, beats, killed, shift, shown, until


@pytest.mark.parametrize("jump", [-7200.0, 7200.0])
def test_a_clock_that_is_set_makes_no_running_job_stale(store: Store, jump: float) -> None:
    """All files of the past lie in the future or long ago; the next beat tells."""
    job, pulses = standin_jobs.job("simcse"), Pulses(store.folder)
    with beating(store.folder, job, lambda progress: None):
        until(lambda: len(beats(store)) == 1)
        shift(beats(store)[0], jump)
        assert [len(some) for some in pulses.look()] == [0, 1]
        path = beats(store)[0]
        heartbeat._write(path, path.read_bytes())  # the next beat, by a clock that has still not been set right
        shift(path, jump)
        assert [len(some) for some in pulses.look()] == [1, 0]


def test_a_job_whose_process_died_is_stale_until_it_has_a_record(store: Store) -> None:
    job = standin_jobs.job("simcse", 4)
    (store.folder / "plan-mine.tsv").write_text(plan_text([job]))
    killed = (
        "import os, sys, time\nfrom pathlib import Path\n"
        "from cseb.launchers.heartbeat import beating\nfrom tests import standin_jobs\n"
        "with beating(Path(sys.argv[1]), standin_jobs.job('simcse', 4), print):\n"
        "    while not list(Path(sys.argv[1], 'running').glob('[!.]*.json')):\n"
        "        time.sleep(0.01)\n"
        "    os._exit(1)\n"
    )
    subprocess.run([sys.executable, "-c", killed, str(store.folder)], cwd=ROOT, check=False, timeout=60)
    shift(beats(store)[0], -60)
    text = " ".join(shown(store).split())
    assert "stale: simcse 10 % seed 4: process" in text
    assert "0 of 1 done" in text
    assert len(Pulses(store.folder).settled(patience=0.1)[1]) == 1
    store.write(standin_jobs.record(job), {})
    assert "stale" not in shown(store)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes cannot be told apart here")
def test_a_job_of_this_host_whose_process_is_gone_is_stale_at_once(store: Store) -> None:
    killed(store.folder, LEFT.format(folder=str(store.folder)))
    asked = time.monotonic()
    alive, silent = Pulses(store.folder).settled(patience=30)
    assert time.monotonic() - asked < 5
    assert (len(alive), len(silent)) == (0, 1)
    assert not Pulses(store.folder).launched()
    assert len(list(folder_of(store.folder).glob("*.launcher"))) == 1
    with launching(store.folder):
        until = time.monotonic() + 10
        while len(held := list(folder_of(store.folder).glob("*.launcher"))) != 1 and time.monotonic() < until:
            time.sleep(0.01)
        # the dead one's is gone, ours is there
        assert [path.read_text().split()[1] for path in held] == [str(os.getpid())]


def test_a_process_of_another_machine_or_start_is_not_called_dead(store: Store) -> None:
    me = os.getpid()
    assert not alive.ended(me, alive.machine(), alive.began(me))
    assert not alive.ended(2**22 + 1, "another", 5)
    assert not alive.ended(2**22 + 1, "", 0)
    assert not alive.ended(me, alive.machine(), 0)  # written where the start of a process cannot be told
    if alive.machine():
        assert alive.ended(me, alive.machine(), alive.began(me) + 1)  # the number was given to another process
        assert alive.ended(2**22 + 1, alive.machine(), 5)


def test_what_is_no_heartbeat_is_passed_over(store: Store) -> None:
    folder = folder_of(store.folder)
    folder.mkdir()
    for name, text in {
        "a.json": "",
        "b.json": "[]",
        "c.json": '{"key": "c"}',
        "d.txt": "",
        "e.json": "{" * 9999,
    }.items():
        (folder / name).write_text(text)
    (folder / "g.json").mkdir()
    assert Pulses(store.folder).look() == ([], [])


DAMAGES = {"fraction": "abc", "seconds": None, "step": "many", "seed": 1.5, "pid": [], "loss": "nan", "method": 3}


@pytest.mark.parametrize("damage", [*DAMAGES, "endless", "deep", "pipe", "huge", "long", "renamed"])
def test_a_damaged_heartbeat_is_as_none(store: Store, damage: str) -> None:
    job, folder = standin_jobs.job("simcse"), folder_of(store.folder)
    folder.mkdir()
    path = folder / f"{job.key}.json"
    whole = {"key": job.key, "method": "simcse", "fraction": 0.1, "seed": 0, "host": "a", "pid": 1, "seconds": 2.0}
    path.write_text(json.dumps(whole))
    assert len(Pulses(store.folder).look()[0]) == 1
    if damage == "pipe":
        path.unlink()
        os.mkfifo(path)
    elif damage == "long":  # whole, but more than a heartbeat has
        path.write_text(json.dumps(whole | {"method": "m" * pulses.LARGEST}))
    elif damage == "renamed":
        path.rename(folder / "another.json")
    else:
        changed = json.dumps(whole | ({damage: DAMAGES[damage]} if damage in DAMAGES else {"seconds": float("inf")}))
        path.write_text({"deep": "[" * 4000, "huge": changed + " " * 5000 + "x"}.get(damage, changed))
    assert Pulses(store.folder).look() == ([], [])
    assert "0 of 0 done" in shown(store)
    assert next_job(store.folder, deque([job, standin_jobs.job("b")])) is job


@pytest.mark.parametrize(
    "changes",
    [{"seed": 10**400}, {"pid": 2**80}, {"loss": 1e308}, {"fraction": 1e308}, {"step": -1}, {"began": 10**50}],
)
def test_a_heartbeat_with_numbers_of_no_job_is_as_none(store: Store, changes: dict[str, float]) -> None:
    job = standin_jobs.job("simcse")
    folder_of(store.folder).mkdir()
    content = json.loads(heartbeat.content(job, Progress(job.key, 0, 0, None, None), 0.0)) | changes
    (folder_of(store.folder) / f"{job.key}.json").write_text(json.dumps(content))
    assert Pulses(store.folder).look() == ([], [])


def test_a_heartbeat_of_ages_gives_a_picture(store: Store) -> None:
    job = standin_jobs.job("simcse")
    with beating(store.folder, job, lambda progress: None):
        until(lambda: len(beats(store)) == 1)
        beat = json.loads(beats(store)[0].read_text()) | {"seconds": 1e300, "step": 1, "steps": 10**30}
        beats(store)[0].write_text(json.dumps(beat))
        assert "step 1/1" in shown(store)


def test_what_dead_launchers_left_long_ago_is_removed(store: Store) -> None:
    folder = folder_of(store.folder)
    folder.mkdir()
    for name in ("old.launcher", ".old.tmp", "new.launcher", ".new.tmp"):
        (folder / name).write_text("host 1\n")
    for name in ("old.launcher", ".old.tmp"):
        os.utime(folder / name, (0, 0))
    pulses.tidy(store.folder)
    assert {path.name for path in folder.iterdir()} == {"new.launcher", ".new.tmp"}


@pytest.mark.parametrize(
    "about",
    [
        "",
        "host",
        "host ten {machine} 5",
        "host 7 {machine} ²",
        f"host {'9' * 100} {{machine}} 5",
        "host -1 {machine} 5",
    ],
)
def test_what_no_launcher_says_of_itself_proves_nothing(store: Store, about: str) -> None:
    """A file of today that says anything else stays until it is old."""
    file = folder_of(store.folder) / "a.launcher"
    file.parent.mkdir()
    file.write_text(about.format(machine=alive.machine() or "-"))
    pulses.tidy(store.folder)
    assert file.exists()
    assert Pulses(store.folder).launched()
