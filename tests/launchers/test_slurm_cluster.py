"""Jobs through a real Slurm of one node, started here and torn down after."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cseb.errors import BadBenchmark
from cseb.experiment.job import Job
from cseb.launchers import launch, slurm
from cseb.launchers.job_runner import Broken, Event, Finished, Started
from cseb.launchers.slurm import Slurm
from cseb.records.progress import Progress
from cseb.records.store import Store
from tests import slurm_cluster, standin_jobs
from tests.standin_jobs import jobs

ROOT = Path(__file__).parents[2]
pytest.importorskip("submitit", reason="submitit is not installed")
pytestmark = [
    pytest.mark.slurm,
    pytest.mark.xdist_group("slurm"),  # one cluster is enough
    pytest.mark.skipif(bool(slurm_cluster.missing()), reason=f"no Slurm: {slurm_cluster.missing()}"),
]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    with slurm_cluster.slurm() as folder:
        yield folder


@pytest.fixture(autouse=True)
def there(cluster: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_CONF", str(cluster / "slurm.conf"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(slurm, "PAUSES", (0.2, 0.5))


def arrays(store: Store) -> int:
    """How many times something was submitted."""
    return len(list((store.folder / "slurm").glob("*_submission.sh")))


def running() -> list[str]:
    """Array tasks by id, such as 4_0."""
    command = ["squeue", "--noheader", "--array", "--states=running", "--format=%i"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def until_all_are(state: str) -> None:
    """Wait until all that is in the queue has this state: what was ended has ended."""
    command = ["squeue", "--noheader", "--array", "--format=%T"]
    deadline = time.monotonic() + 60
    while set(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()) - {state}:
        assert time.monotonic() < deadline
        time.sleep(0.1)


def when_at_work(store: Store, waiting: list[Job], then: Callable[[], None]) -> Callable[[Event], None]:
    """A watch that does something once when all of `waiting` are at work, and lets them go on."""

    def watch(_: Event) -> None:
        if all(standin_jobs.tries(job, store) for job in waiting) and not (store.folder / "go").exists():
            then()
            (store.folder / "go").touch()

    return watch


@pytest.mark.slow
def test_packs_are_worked_off_and_everything_is_told(store: Store) -> None:
    grid, events = jobs("a", "b", "nan", "mistake", "bug", "d", "c"), list[Event]()
    where = Slurm({"cpus-per-task": "2"}, pack=4)
    summary = launch(grid, store, where, events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed, summary.refused) == (4, 2, 1)
    broken = {event.key: (event.kind, event.reason) for event in events if isinstance(event, Broken)}
    assert broken == {
        grid[3].key: ("user", "the corpus is gone"),
        grid[4].key: ("bug", "ZeroDivisionError: a bug of ours"),
    }
    for job in grid:
        kinds = [type(event) for event in events if event.key == job.key and not isinstance(event, Progress)]
        assert kinds in ([Started, Finished], [Started, Broken])
    assert arrays(store) == 1
    assert len(list((store.folder / "slurm").glob("*_submitted.pkl"))) == 2


@pytest.mark.slow
def test_jobs_of_an_allocation_take_its_gpus_in_turn(store: Store) -> None:
    on_gpu = replace(standin_jobs.PROTOCOL, device="cuda")
    grid = [replace(job, protocol=on_gpu) for job in jobs(*["device"] * 4)]
    where = Slurm({"gres": "gpu:2", "cpus-per-task": "2"}, pack=4)
    summary = launch(grid, store, where, lambda event: None, target=standin_jobs.TARGET)
    assert (summary.done, arrays(store)) == (4, 1)
    assert {store.read(job.key).benchmark for job in grid} == {"0", "1"}


def test_what_a_preempted_allocation_left_is_submitted_again(store: Store) -> None:
    grid = jobs("a", "waits", "b", "c")

    def preempt() -> None:
        (task,) = running()
        subprocess.run(["scancel", task], check=True)
        until_all_are("GONE")

    summary = launch(grid, store, Slurm(pack=4), when_at_work(store, grid[1:2], preempt), target=standin_jobs.TARGET)
    assert (summary.done, summary.exit_code) == (4, 0)
    assert standin_jobs.tries(grid[1], store) == 2
    assert arrays(store) == 2
    assert store.done(job.key for job in grid) == {job.key for job in grid}


@pytest.mark.slow
def test_what_slurm_itself_puts_back_into_the_queue_is_not_submitted_again(store: Store) -> None:
    grid = jobs("a", "b", "waits", "waits")  # each allocation gets one that waits

    def requeue() -> None:
        for task in running():
            subprocess.run(["scontrol", "requeue", task], check=True)
        until_all_are("PENDING")

    summary = launch(grid, store, Slurm(pack=2), when_at_work(store, grid[2:], requeue), target=standin_jobs.TARGET)
    assert (summary.done, summary.exit_code) == (4, 0)
    assert [standin_jobs.tries(job, store) for job in grid] == [0, 0, 2, 2]
    assert arrays(store) == 1


def test_a_job_that_kills_its_allocation_harms_no_other(store: Store) -> None:
    grid, events = jobs("killed", "a", "b", "killed-once"), list[Event]()
    summary = launch(grid, store, Slurm(pack=4), events.append, target=standin_jobs.TARGET)
    assert (summary.done, summary.failed) == (3, 1)
    (broken,) = [event for event in events if isinstance(event, Broken)]
    assert (broken.key, broken.kind) == (grid[0].key, "died")
    assert "ended without a record" in broken.reason
    assert str(store.folder / "slurm") in broken.reason


def test_a_record_that_is_to_be_made_afresh_is(store: Store) -> None:
    grid = jobs("a", "b")
    for job in grid:
        store.write(standin_jobs.record(job, value=1.0), {})
    fresh = frozenset(job.key for job in grid)
    summary = launch(grid, store, Slurm(), lambda event: None, target=standin_jobs.TARGET, again=fresh)
    assert summary.done == 2
    assert [store.read(job.key).scores[0].value for job in grid] == [50.0, 50.0]


def test_what_sbatch_refuses_is_one_line(store: Store, capfd: pytest.CaptureFixture[str]) -> None:
    for options, said in (
        ({"partition": "nowhere"}, "invalid partition specified: nowhere"),
        ({"partitoin": "main"}, "partitoin"),
    ):
        with pytest.raises(BadBenchmark, match=said):
            launch(jobs("a"), store, Slurm(options), lambda event: None, target=standin_jobs.TARGET)
    assert not any(capfd.readouterr())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_takes_everything_from_the_queue(tmp_path: Path, number: int) -> None:
    Store(tmp_path).prepare()
    command = [sys.executable, "-m", "tests.standin_jobs", str(tmp_path), "1", "slurm"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, text=True, start_new_session=True, **pipes) as process:
        seen: list[str] = []
        while seen.count("Started") < 2 or "Finished" not in seen:  # a start may be heard of before the first record
            seen.append(process.stdout.readline().strip())
            assert seen[-1], "the program ended too early"
        assert running()
        os.killpg(process.pid, number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (130, "")
    assert out.splitlines()[-1] == "stopped 1"
    assert not running()
