"""Which job is next: one that nobody else runs, and none that has a record meanwhile."""

from __future__ import annotations

from collections import deque

import pytest

from cseb.launchers import launch
from cseb.launchers.claims import next_job
from cseb.launchers.events import Event, Finished
from cseb.launchers.heartbeat import beating
from cseb.launchers.job_runner import JobRunner
from cseb.launchers.local import Local
from cseb.records.store import Store
from tests import standin_jobs
from tests.launchers.beats import beats, shift, until


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
