"""Heartbeats: a file while a job runs, that says how far it is and costs the job nothing."""

from __future__ import annotations

import json
import os
import threading
import time

import pytest

from cseb.launchers import heartbeat
from cseb.launchers.heartbeat import beating, folder_of
from cseb.launchers.pulses import Pulses
from cseb.records.progress import Progress
from cseb.records.store import Store
from tests import standin_jobs
from tests.launchers.beats import beats, shown, until


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
