"""Jobs in processes: what one of them does, the others survive."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from cseb.commands.hosts import workers_of as workers_of_grid
from cseb.errors import BadBenchmark
from cseb.experiment.job import Job
from cseb.launchers import launch, local
from cseb.launchers.job_runner import Broken, Event, Finished, JobRunner, Started, Summary
from cseb.launchers.local import Local, least_used
from cseb.records.progress import Progress
from cseb.records.store import Store
from tests import standin_jobs
from tests.standin_jobs import jobs

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("workers", [1, 2])
def test_each_job_is_run_once_and_told(store: Store, workers: int) -> None:
    grid, events = jobs("a", "b", "c", "d", "e"), list[Event]()
    summary = launch(grid, store, Local(workers), events.append, target=standin_jobs.TARGET)
    assert (summary.total, summary.done, summary.exit_code) == (5, 5, 0)
    assert store.keys() == {job.key for job in grid}
    for kind in (Started, Progress, Finished):
        assert sorted(event.key for event in events if isinstance(event, kind)) == sorted(job.key for job in grid)
    for job in grid:
        assert [type(event) for event in events if event.key == job.key] == [Started, Progress, Finished]


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    ("label", "kind", "code", "reason"),
    [
        ("mistake", "user", 2, "the corpus is gone"),
        ("bug", "bug", 1, "ZeroDivisionError: a bug of ours"),
        ("memory", "memory", 1, "out of memory: MemoryError"),
    ],
)
def test_an_exception_costs_one_job(store: Store, workers: int, label: str, kind: str, code: int, reason: str) -> None:
    grid, events = jobs("a", label, "b", "c"), list[Event]()
    summary = launch(grid, store, Local(workers), events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.exit_code) == (3, code)
    (broken,) = [event for event in events if isinstance(event, Broken)]
    assert (broken.key, broken.kind, broken.reason) == (grid[1].key, kind, reason)
    assert ("in run_job" in broken.detail) == (kind == "bug")
    assert {broken.key}.isdisjoint(store.keys())


def test_memory_of_a_gpu_is_returned_after_each_job(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    returned: list[str] = []

    def empty() -> None:
        returned.append("")
        raise RuntimeError("CUDA error: device-side assert triggered")  # as after an error that lost the GPU

    monkeypatch.setattr("torch.cuda.empty_cache", empty)
    runner, grid = JobRunner(standin_jobs.TARGET, store), [*on_gpu(jobs("a", "bug")), *jobs("b")]
    outcomes = [type(runner.attempt(job, lambda progress: None)) for job in grid]
    assert outcomes == [Finished, Broken, Finished]
    assert len(returned) == 2


@pytest.mark.parametrize("workers", [1, 2])
def test_a_cuda_error_costs_one_job(store: Store, workers: int) -> None:
    grid, events = on_gpu(jobs("a", "assert", "b", "c", "d", "e")), list[Event]()
    summary = launch(grid, store, Local(workers), events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed, summary.exit_code) == (5, 1, 1)
    (broken,) = [event for event in events if isinstance(event, Broken)]
    assert (broken.key, broken.kind) == (grid[1].key, "device")


@pytest.mark.parametrize(
    ("label", "reason"), [("killed", "SIGKILL"), ("real-time", "by signal 40"), ("left", "exit code 3")]
)
def test_a_dead_worker_costs_one_job(store: Store, label: str, reason: str) -> None:
    grid, events = jobs("a", label, "b", label, "c", "d"), list[Event]()
    summary = launch(grid, store, Local(2), events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed, summary.exit_code) == (4, 2, 1)
    broken = [event for event in events if isinstance(event, Broken)]
    assert {event.key for event in broken} == {grid[1].key, grid[3].key}
    assert all(event.kind == "died" and reason in event.reason for event in broken)
    assert store.keys() == {job.key for job in grid if job.label != label}


def on_gpu(grid: list[Job]) -> list[Job]:
    """Return the jobs for a GPU, which run in a worker process."""
    return [replace(job, protocol=replace(standin_jobs.PROTOCOL, device="cuda")) for job in grid]


def test_each_worker_sees_one_gpu_and_several_share_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3, GPU-8f1a")
    grid = on_gpu(jobs("device", "device", "device", "device"))
    assert workers_of_grid("auto", 1, "cuda", per_gpu=2) == 4
    launch(grid, store, Local(4), lambda event: None, target=standin_jobs.TARGET)
    assert sorted(store.read(job.key).benchmark for job in grid) == ["3", "3", "GPU-8f1a", "GPU-8f1a"]
    assert os.environ["CUDA_VISIBLE_DEVICES"] == "3, GPU-8f1a"
    assert least_used(["0", "1", "2"], ["0", "2", "0"]) == "1"


@pytest.mark.parametrize(("text", "device"), [("auto", "cpu"), ("3", "cuda")])
def test_jobs_per_gpu_is_refused_where_it_would_do_nothing(text: str, device: str) -> None:
    with pytest.raises(BadBenchmark, match="`jobs_per_gpu`"):
        workers_of_grid(text, 1, device, per_gpu=2)


def test_a_worker_is_replaced_in_time(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.setattr(local, "JOBS_PER_WORKER", 3)
    grid = on_gpu(jobs(*["pid"] * 7))
    summary = launch(grid, store, Local(1), lambda event: None, target=standin_jobs.TARGET)
    assert summary.done == 7
    told = [store.read(job.key).benchmark for job in grid]
    assert [told.count(pid) for pid in dict.fromkeys(told)] == [3, 3, 1]


def test_a_worker_out_of_memory_is_replaced(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    grid = on_gpu(jobs("pid", "pid", "memory", "pid"))
    summary = launch(grid, store, Local(1), lambda event: None, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed) == (3, 1)
    first, second, last = (store.read(grid[number].key).benchmark for number in (0, 1, 3))
    assert first == second != last


def test_workers_that_cannot_even_start_end_the_grid(store: Store) -> None:
    summary = launch(jobs("a", "b", "c"), store, Local(2), lambda event: None, target="no_such_module:run")
    assert (summary.done, summary.failed, summary.exit_code) == (0, 3, 1)


def test_a_loss_that_is_no_number_is_a_failed_record(store: Store) -> None:
    summary = launch(jobs("a", "nan"), store, Local(1), lambda event: None, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed, summary.exit_code) == (1, 1, 1)


def test_ctrl_c_in_this_process_stops_the_grid(store: Store) -> None:
    events = list[Event]()
    summary = launch(jobs("a", "ctrl-c", "b"), store, Local(1), events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.stopped, summary.exit_code) == (1, True, 130)


def test_what_the_display_raises_leaves_no_process(store: Store) -> None:
    def watch(event: Event) -> None:
        raise RuntimeError("the terminal is gone")

    with pytest.raises(RuntimeError, match="terminal"):
        launch(jobs("slow", "slow"), store, Local(2), watch, target=standin_jobs.TARGET)
    assert not workers_of(os.getpid())


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_workers_and_the_parent_says_so(tmp_path: Path, workers: int, number: int) -> None:
    with program(tmp_path, workers) as process:
        busy = workers_of(process.pid)
        assert len(busy) == (workers if workers > 1 else 0)
        # A terminal sends Ctrl-C to the whole group, a scheduler SIGTERM to the parent alone.
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert out.splitlines()[-1] == "stopped 1"
    assert "Traceback" not in err, err
    _, alive = psutil.wait_procs(busy, timeout=30)
    assert not alive


def test_a_signal_that_comes_early_is_answered_by_the_parent_alone(tmp_path: Path) -> None:
    with program(tmp_path, 2, early=True) as process:
        os.killpg(process.pid, signal.SIGINT)  # while the first worker is still importing
        out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1] == "stopped 0"


def test_workers_leave_when_the_parent_is_killed(tmp_path: Path) -> None:
    with program(tmp_path, 2) as process:
        busy = workers_of(process.pid)
        assert len(busy) == 2
        process.kill()
    _, alive = psutil.wait_procs(busy, timeout=30)
    assert not alive


class program(subprocess.Popen[str]):  # noqa: N801
    """The stand-in program, in a process group of its own, as far as its slow jobs; early: as far as its first."""

    def __init__(self, folder: Path, workers: int, early: bool = False) -> None:
        Store(folder).prepare()
        command = [sys.executable, "-m", "tests.standin_jobs", str(folder), str(workers)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        super().__init__(command, cwd=ROOT, text=True, start_new_session=True, **pipes)
        seen: list[str] = []
        if early:
            assert self.stdout.readline() == "Started\n"
            return
        while seen.count("Started") < 1 + workers or seen.count("Progress") < 1 + workers:
            seen.append(self.stdout.readline().strip())
            assert seen[-1], "the program ended too early"
        time.sleep(0.2)


def workers_of(pid: int) -> list[psutil.Process]:
    children = psutil.Process(pid).children(recursive=True)
    return [process for process in children if "spawn_main" in " ".join(process.cmdline())]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_stop_that_python_loses_is_heard_with_the_next_event(store: Store) -> None:
    """What a signal handler raises inside a finaliser is dropped, as it is inside callbacks of the import system."""

    class Gone:
        def __del__(self) -> None:
            os.kill(os.getpid(), signal.SIGINT)

    class Loses:
        def run(self, task, waiting, tell) -> None:
            gone = Gone()
            del gone
            went_on.append(True)
            tell(Started(waiting[0].key))
            went_on.append(True)

    went_on: list[bool] = []
    events = list[Event]()
    assert launch(jobs("a"), store, Loses(), events.append).stopped
    assert (went_on, events) == ([True], [])


@pytest.mark.parametrize(
    ("summary", "code"),
    [
        (Summary(1, done=1), 0),
        (Summary(2, done=1, failed=1), 1),
        (Summary(2, done=1, refused=1), 2),
        (Summary(3, failed=1, refused=1), 2),
        (Summary(2, done=1, stopped=True), 130),
    ],
)
def test_exit_codes(summary: Summary, code: int) -> None:
    assert summary.exit_code == code
