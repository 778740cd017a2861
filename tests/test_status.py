"""What a folder says of a grid that runs somewhere: done, running, failed, stale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import pytest
from rich.console import Console

from cseb.cli.status import picture, status
from cseb.experiment.job import Job
from cseb.experiment.planned_jobs import plan_text, read_plan
from cseb.launchers import heartbeat, launch, pulses
from cseb.launchers import process_identity as alive
from cseb.launchers.claims import launching, next_job
from cseb.launchers.events import Event, Finished, Started
from cseb.launchers.heartbeat import beating, folder_of
from cseb.launchers.job_runner import JobRunner
from cseb.launchers.job_states import JobStates
from cseb.launchers.local import Local
from cseb.launchers.pulses import Pulses
from cseb.records.progress import Progress
from cseb.records.store import Store
from tests import standin_jobs
from tests.stderr_lines import without_progress

ROOT = Path(__file__).parents[1]


def until(true: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def beats(store: Store) -> list[Path]:
    return sorted(folder_of(store.folder).glob("*.json"))


def shown(store: Store, pulses: Pulses | None = None) -> str:
    console = Console(width=100, highlight=False)
    with console.capture() as captured:
        console.print(picture(JobStates(store), *(pulses or Pulses(store.folder)).look()))
    return captured.get()


def shift(path: Path, seconds: float) -> None:
    """As if the clock had been set meanwhile."""
    then = path.stat().st_mtime + seconds
    os.utime(path, (then, then))


def test_a_running_job_has_a_file_that_is_gone_at_its_end(store: Store) -> None:
    job = standin_jobs.job("simcse", 3)
    with beating(store.folder, job, lambda progress: None) as watch:
        until(lambda: len(beats(store)) == 1)
        watch(Progress(job.key, 20, 50, 0.5, 61.0))
        assert json.loads(beats(store)[0].read_text())["pid"] == os.getpid()
        ((seen,), silent) = Pulses(store.folder).look()
        assert (seen.beat.key, seen.beat.method, seen.beat.seed, silent) == (job.key, "simcse", 3, [])
    assert not list(folder_of(store.folder).iterdir())


def test_every_beat_tells_how_far_the_job_is(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heartbeat, "EVERY", 0.02)
    job, heard = standin_jobs.job("simcse"), list[Progress]()
    with beating(store.folder, job, heard.append) as watch:
        watch(Progress(job.key, 20, 50, 0.5, 61.0))
        until(lambda: bool(beats(store)) and json.loads(beats(store)[0].read_text())["step"] == 20)
        assert "step 20/50" in shown(store)
    assert [progress.step for progress in heard] == [20]


@pytest.mark.parametrize("way", ["no folder", "file in the way", "read-only"])
def test_a_heartbeat_that_cannot_be_written_costs_nothing(
    store: Store, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "file in the way":
        folder_of(store.folder).write_text("")
    if way == "read-only":  # root may write anywhere, so the refusal is made up
        monkeypatch.setattr(heartbeat, "_write", lambda path, content: (_ for _ in ()).throw(OSError(30, "read-only")))
    results = store.folder / "missing" if way == "no folder" else store.folder
    started = time.monotonic()
    with beating(results, standin_jobs.job("a"), lambda progress: None) as watch:
        watch(Progress("a", 1, 2, None, None))
    assert time.monotonic() - started < 0.9  # it waits for a second where a disk hangs


def test_a_disk_that_hangs_holds_up_a_job_for_a_second_at_most(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    free = threading.Event()
    monkeypatch.setattr(heartbeat, "_write", lambda path, content: free.wait(20))
    started = time.monotonic()
    with beating(store.folder, standin_jobs.job("a"), lambda progress: None):
        pass
    assert time.monotonic() - started < 10
    free.set()


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


def test_done_failed_and_waiting_jobs_are_counted_by_the_plan(store: Store) -> None:
    jobs = [standin_jobs.job(label, seed) for label in ("simcse", "micse") for seed in range(3)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    for one in jobs[:3]:
        store.write(standin_jobs.record(one), {})
    store.write(standin_jobs.record(jobs[3], failed="the loss is nan"), {})
    (store.runs / f"{'f' * 16}.json").write_text("garbage")
    lines = shown(store).splitlines()
    assert lines[0] == "3 of 6 done, 1 failed"
    assert [line.split() for line in lines[2:4]] == [["simcse", "3/3"], ["micse", "!1", "0/3"]]
    assert lines[-1] == "failed: micse 10 % seed 0: the loss is nan"


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


def test_a_heartbeat_of_ages_gives_a_picture(store: Store) -> None:
    job = standin_jobs.job("simcse")
    with beating(store.folder, job, lambda progress: None):
        until(lambda: len(beats(store)) == 1)
        beat = json.loads(beats(store)[0].read_text()) | {"seconds": 1e300, "step": 1, "steps": 10**30}
        beats(store)[0].write_text(json.dumps(beat))
        assert "step 1/1" in shown(store)


@pytest.mark.parametrize("label", ["mistake", "left"])
def test_what_broke_without_a_record_is_told_and_not_waited_for(store: Store, label: str) -> None:
    jobs = [standin_jobs.job("a"), standin_jobs.job(label, 1)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    launch(jobs, store, Local(1 if label == "mistake" else 2), lambda event: None, target=standin_jobs.TARGET)
    lines = shown(store).splitlines()
    why = {"mistake": "the corpus is gone", "left": "the worker ended with exit code 3"}[label]
    assert (lines[0], lines[-1]) == ("1 of 2 done, 1 failed", f"failed: {label} 10 % seed 1: {why}")
    folder = JobStates(store)
    folder.look()
    assert folder.finished()

    def watch(event: Event) -> None:
        if isinstance(event, Started):
            seen.append(JobStates(store))
            seen[-1].look()

    seen: list[JobStates] = []
    launch(jobs[1:], store, Local(2), watch, target=standin_jobs.TARGET)
    assert [one.finished() for one in seen] == [False]  # it runs again
    store.write(standin_jobs.record(jobs[1]), {})
    assert "failed:" not in shown(store)
    launch(jobs[1:], store, Local(1), lambda event: None, target=standin_jobs.TARGET)
    assert not list(folder_of(store.folder).glob("[!.]*"))


def test_a_job_that_was_killed_for_its_length_does_not_seem_to_run(store: Store) -> None:
    job = standin_jobs.job("slow")
    (store.folder / "plan-mine.tsv").write_text(plan_text([job]))
    launch([job], store, Local(1), lambda event: None, time_limit=2.0, target=standin_jobs.TARGET)
    assert not beats(store)
    assert shown(store).splitlines()[-1] == "failed: slow 10 % seed 0: exceeded the time limit of 2 s (--time-limit)"


def test_who_watches_waits_while_somebody_hands_out_jobs_and_no_longer(
    store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (store.folder / "plan-mine.tsv").write_text(plan_text([standin_jobs.job("a")]))
    monkeypatch.setattr(pulses, "FRESH", 0.5)
    monkeypatch.setattr(heartbeat, "EVERY", 0.05)
    monkeypatch.setattr(sys.modules[picture.__module__], "REFRESH", 0.05)
    watching = threading.Thread(target=status, args=(store.folder, True), daemon=True)
    with launching(store.folder):  # nothing of a job is seen yet, as in a cluster's queue
        until(Pulses(store.folder).launched)
        watching.start()
        watching.join(1.2)
        assert watching.is_alive()
    assert not list(folder_of(store.folder).iterdir())
    watching.join(5)
    assert not watching.is_alive()
    assert "nothing runs any more" in capsys.readouterr().err


def test_jobs_of_earlier_grids_stay_planned(store: Store) -> None:
    earlier, now = standin_jobs.jobs("simcse", "micse"), standin_jobs.jobs("mean")
    path = store.folder / "plan-mine.tsv"
    for jobs in (earlier, now, now):
        path.write_text(plan_text(jobs, read_plan(path)))
    assert list(read_plan(path)) == [job.key for job in earlier + now]
    assert shown(store).splitlines()[0] == "0 of 3 done"
    store.write(standin_jobs.record(standin_jobs.job("cls")), {})
    assert shown(store).splitlines()[0] == "1 of 4 done"
    path.unlink()
    os.mkfifo(path)
    assert read_plan(path) == {}


def test_a_job_that_another_process_runs_is_taken_last(store: Store) -> None:
    jobs = [standin_jobs.job(label) for label in ("a", "b", "c")]
    waiting = deque(jobs)
    with beating(store.folder, jobs[0], lambda progress: None):
        until(lambda: len(beats(store)) == 1)
        assert [next_job(store.folder, waiting).label for _ in jobs] == ["b", "c", "a"]
        [first] = [path for path in beats(store) if jobs[0].key in path.name]
        shift(first, -3600)  # of a process that has died
        assert next_job(store.folder, deque(jobs)).label == "a"


def test_two_that_look_at_once_take_different_jobs(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = [standin_jobs.job(label) for label in ("a", "b", "c")]
    monkeypatch.setattr("cseb.launchers.claims.listed", lambda folder: [])  # neither has seen what the other takes
    assert [next_job(store.folder, deque(jobs)).label for _ in range(4)] == ["a", "b", "c", "a"]
    assert len(beats(store)) == 3
    assert next_job(store.folder, deque(jobs), claim=False).label == "a"


def test_a_claim_is_given_up_with_its_job(store: Store) -> None:
    done, broken = standin_jobs.job("a"), standin_jobs.job("b")
    store.write(standin_jobs.record(done), {})
    for job, target in ((done, standin_jobs.TARGET), (broken, "tests.nowhere:run_job")):
        assert next_job(store.folder, deque([job])) is job
        assert len(beats(store)) == 1
        JobRunner(target, store).attempt(job, lambda progress: None)
        assert beats(store) == []


@pytest.mark.parametrize("workers", [1, 2])
def test_a_record_that_appears_meanwhile_is_taken_as_it_is(store: Store, workers: int) -> None:
    jobs, events = [standin_jobs.job(label) for label in ("a", "b", "c")], list[Event]()
    before = standin_jobs.record(jobs[2], value=12.5)

    def watch(event: Event) -> None:
        events.append(event)
        if len(events) == 1:  # another launcher on this folder
            store.write(before, {})

    summary = launch(jobs, store, Local(workers), watch, target=standin_jobs.TARGET)
    assert summary.done == 3
    (last,) = [event for event in events if isinstance(event, Finished) and event.key == jobs[2].key]
    assert last.record == before == store.read(jobs[2].key)


def test_a_job_that_is_to_be_run_again_is(store: Store) -> None:
    job = standin_jobs.job("a")
    store.write(standin_jobs.record(job, value=12.5), {})
    launch([job], store, Local(1), lambda e: None, again=frozenset({job.key}), target=standin_jobs.TARGET)
    assert store.read(job.key).scores[0].value == 50.0


def cseb(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = "import sys\nfrom cseb.cli import main\ntry:\n    main()\nfinally:\n    assert 'torch' not in sys.modules"
    command = [sys.executable, "-c", script, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)


def test_the_command_needs_no_torch_and_ends_when_all_is_done(store: Store) -> None:
    jobs: list[Job] = [standin_jobs.job("simcse", seed) for seed in range(2)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    for one in jobs:
        store.write(standin_jobs.record(one), {})
    for options in ([], ["--watch"]):
        ran = cseb("status", str(store.folder), *options)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert "2 of 2 done" in ran.stdout
    missing = cseb("status", str(store.folder / "nowhere"))
    assert missing.returncode == 2
    assert len(without_progress(missing.stderr)) == 1


def killed(folder: Path, script: str) -> None:
    """Run a script until it says that it is ready, and kill it without a word."""
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, cwd=Path(__file__).parents[1]) as one:
        assert one.stdout is not None
        assert one.stdout.readline() == b"ready\n"
        one.kill()


LEFT = """
import time
from pathlib import Path
from cseb.launchers.heartbeat import beating, folder_of
from cseb.launchers.claims import launching
from tests import standin_jobs
results = Path({folder!r})
with launching(results), beating(results, standin_jobs.job("simcse"), print):
    while len([path for path in folder_of(results).glob("*") if path.suffix != ".tmp"]) < 2:
        time.sleep(0.01)
    print("ready", flush=True)
    time.sleep(60)
"""


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


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes cannot be told apart here")
def test_after_a_kill_the_command_says_what_has_ended_and_removes_what_the_launcher_left(store: Store) -> None:
    jobs = [standin_jobs.job("simcse", seed) for seed in range(2)]
    (store.folder / "plan-mine.tsv").write_text(plan_text(jobs))
    store.write(standin_jobs.record(jobs[1]), {})
    killed(store.folder, LEFT.format(folder=str(store.folder)))
    asked = time.monotonic()
    said = " ".join(cseb("status", str(store.folder)).stdout.split())
    assert time.monotonic() - asked < 20
    assert "stale: simcse 10 % seed 0: process" in said
    assert "has ended; cseb run goes on from there" in said
    assert "1 of 2 done" in said
    assert "left, until" not in said  # nothing runs
    assert not list(folder_of(store.folder).glob("*.launcher"))


def test_a_process_of_another_machine_or_start_is_not_called_dead(store: Store) -> None:
    me = os.getpid()
    assert not alive.ended(me, alive.machine(), alive.began(me))
    assert not alive.ended(2**22 + 1, "another", 5)
    assert not alive.ended(2**22 + 1, "", 0)
    assert not alive.ended(me, alive.machine(), 0)  # written where the start of a process cannot be told
    if alive.machine():
        assert alive.ended(me, alive.machine(), alive.began(me) + 1)  # the number was given to another process
        assert alive.ended(2**22 + 1, alive.machine(), 5)


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


def test_a_link_among_the_records_stops_no_run(store: Store, tmp_path: Path) -> None:
    """One that is old and called like a half-written file is removed, and what it names stays."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/file").write_text("mine")
    store.prepare()
    for number, target in enumerate((tmp_path / "mine", tmp_path / "nothing", store.runs / ".1.tmp")):
        link = store.runs / f".{number}.tmp"
        link.symlink_to(target)
        os.utime(link, (0, 0), follow_symlinks=False)
    (store.runs / "0123456789abcdef.json").symlink_to(tmp_path / "nothing")
    (store.runs / "folder.json").symlink_to(tmp_path / "mine")
    store.prepare()
    assert (tmp_path / "mine/file").read_text() == "mine"
    assert not list(store.runs.glob(".*.tmp"))
    records, problems = store.load()
    assert not records
    assert len(problems) == 2
