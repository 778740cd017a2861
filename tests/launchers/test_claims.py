"""Claims: no two launchers on one folder run the same job, and the jobs of a process that was killed are run again."""

import os
import threading
import time
from collections import deque
from typing import Any

import pytest

from cseb.launchers import claims as claims_module
from cseb.launchers import launch
from cseb.launchers.claims import EXPIRY, Claims, claims_of, folder_of, note, process_start, reasons
from cseb.launchers.job_runner import Broken, Event, Finished, Started
from cseb.launchers.local import Local
from cseb.records.progress import Progress
from cseb.records.store import Store
from tests import standin_jobs
from tests.launchers.running import files, leave_claim_of_killed_process, rewrite, shown, until

ON_LINUX = pytest.mark.skipif(not process_start(os.getpid()), reason="processes cannot be identified on this system")


def test_two_launchers_claim_different_jobs(store: Store) -> None:
    jobs = standin_jobs.jobs("a", "b", "c")
    with Claims(store.folder) as first, Claims(store.folder) as second:
        waiting, others = deque(jobs), deque(jobs)
        assert first.next_job(waiting) is jobs[0]
        assert second.next_job(others) is jobs[1]
        assert first.next_job(waiting) is jobs[2]
        assert second.next_job(others) is None
        assert (list(waiting), list(others)) == ([jobs[1]], [jobs[0], jobs[2]])
        assert len(files(store)) == 3
    assert files(store) == []


def test_a_reason_is_kept_without_escape_sequences(store: Store) -> None:
    assert reasons(store.folder) == {}
    folder_of(store.folder).mkdir()
    note(store.folder, Broken("0" * 16, "died", "out of memory\x1b[31m"))
    assert "\x1b" not in reasons(store.folder)["0" * 16]


@pytest.mark.parametrize("end", [Finished, Broken])
def test_a_claim_ends_with_its_job(store: Store, end: type) -> None:
    job = standin_jobs.job("a")
    event = Finished(job.key, standin_jobs.record(job)) if end is Finished else Broken(job.key, "bug", "a bug")
    with Claims(store.folder) as claims, Claims(store.folder) as other:
        assert claims.claim(job)
        other.update(event)
        assert not other.claim(job)
        claims.update(event)
        assert files(store) == []
        assert other.claim(job)


@ON_LINUX
def test_the_job_of_a_process_that_was_killed_is_claimed_at_once(store: Store) -> None:
    job = standin_jobs.job("simcse")
    leave_claim_of_killed_process(store.folder)
    valid, invalid = claims_of(store.folder)
    assert (valid, [claim.key for claim in invalid]) == ([], [job.key])
    with Claims(store.folder) as claims:
        assert claims.claim(job)
        assert claims_of(store.folder)[0][0].pid == os.getpid()


@ON_LINUX
def test_a_claim_that_a_killed_process_left_on_an_ended_job_is_removed(store: Store) -> None:
    job = standin_jobs.job("simcse")
    leave_claim_of_killed_process(store.folder)
    with Claims(store.folder):
        assert len(files(store)) == 1  # without a record its job is still to run
    store.write(standin_jobs.record(job), {})
    with Claims(store.folder):
        assert files(store) == []


@ON_LINUX
def test_a_process_id_that_was_given_to_another_process_does_not_count(store: Store) -> None:
    with Claims(store.folder) as claims:
        claims.claim(standin_jobs.job("a"))
        rewrite(files(store)[0], age=10 * EXPIRY)  # the process runs, so its age does not matter
        assert len(claims_of(store.folder)[0]) == 1
        rewrite(files(store)[0], process_start=process_start(os.getpid()) + 1)
        assert len(claims_of(store.folder)[1]) == 1


def test_a_claim_of_another_host_expires(store: Store) -> None:
    job = standin_jobs.job("a")
    with Claims(store.folder) as first, Claims(store.folder) as second:
        first.claim(job)
        rewrite(files(store)[0], age=EXPIRY - 60, host="another")
        assert not second.claim(job)
        rewrite(files(store)[0], age=EXPIRY + 60)
        assert second.claim(job)


def test_a_claim_is_renewed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_module, "RENEWAL", 0.02)
    with Claims(store.folder) as claims:
        claims.claim(standin_jobs.job("a"))
        [path] = files(store)
        os.utime(path, (0, 0))
        until(lambda: path.stat().st_mtime > 0)


def test_the_progress_of_a_job_is_shown(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims_module, "UPDATE", -1.0)
    job = standin_jobs.job("simcse", 3)
    with Claims(store.folder) as claims:
        claims.claim(job)
        assert "starting" in shown(store)
        claims.update(Started(job.key))
        claims.update(Progress(job.key, 20, 50, float("nan"), 61.0))
        picture = shown(store)
    assert "step 20/50" in picture
    assert "dev 61.00" in picture
    assert "loss" not in picture


@pytest.mark.parametrize("way", ["no folder", "file in the way"])
def test_jobs_run_where_no_claim_can_be_written(store: Store, way: str) -> None:
    if way == "file in the way":
        folder_of(store.folder).write_text("")
    job = standin_jobs.job("a")
    with Claims(store.folder / "missing" if way == "no folder" else store.folder) as claims:
        assert claims.claim(job)
        claims.update(Progress(job.key, 1, 2, None, None))


@pytest.mark.parametrize(
    "changes",
    [
        *({"fraction": 2}, {"step": -1}, {"seed": 1.5}, {"pid": 2**80}),
        *({"method": 3}, {"key": "b"}, {"started": None}, {"more": 1}),
    ],
)
def test_a_damaged_claim_is_ignored(store: Store, changes: dict[str, Any]) -> None:
    job = standin_jobs.job("a")
    with Claims(store.folder) as first, Claims(store.folder) as second:
        first.claim(job)
        rewrite(files(store)[0], **changes)
        assert claims_of(store.folder) == ([], [])
        assert second.claim(job)


def test_other_files_are_ignored(store: Store) -> None:
    folder = folder_of(store.folder)
    folder.mkdir()
    for name, text in {"a.json": "", "b.json": "[]", "c.txt": "", "d.json": "{" * 99999}.items():
        (folder / name).write_text(text)
    (folder / "e.json").mkdir()
    os.mkfifo(folder / "f.json")
    assert claims_of(store.folder) == ([], [])
    assert "0 of 0 done" in shown(store)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_launcher_waits_for_jobs_of_another(store: Store, monkeypatch: pytest.MonkeyPatch, workers: int) -> None:
    monkeypatch.setattr("cseb.launchers.local.WAIT", 0.05)
    job, events = standin_jobs.job("a"), list[Event]()
    other = standin_jobs.record(job, value=12.5)
    with Claims(store.folder) as claims:
        claims.claim(job)

        def end() -> None:
            time.sleep(0.5)
            store.write(other, {})
            claims.update(Finished(job.key, other))

        ending = threading.Thread(target=end)
        ending.start()
        summary = launch([job], store, Local(workers), events.append, target=standin_jobs.TARGET)
        ending.join()
    assert summary.done == 1
    assert events[-1] == Finished(job.key, other)


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
