"""A program that runs a grid of small jobs without torch and goes on where it was, as `cseb run` does; to be killed."""

import contextlib
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from cseb.errors import CsebError
from cseb.experiment.job import Job
from cseb.launchers import launch
from cseb.launchers.job_runner import Broken, Event
from cseb.launchers.local import Local
from cseb.records.progress import Progress
from cseb.records.record import Record
from cseb.records.store import Store
from tests import standin_jobs

TARGET = "tests.standin_grid:run_job"
ITEMS = 2000  # numbers of each checkpoint: a job is some 16 kB on the disk
MISTAKE = 2


def grid(count: int) -> list[Job]:
    return [standin_jobs.job("work", seed) for seed in range(count)]


def run_job(job: Job, store: Store, watch: Callable[[Progress], None], models: Path | None = None) -> Record:
    """A twentieth of a second, and numbers that the job alone decides."""
    journal = store.folder.parent / "journal"
    with contextlib.suppress(OSError), journal.open("a") as file:  # the disk may be full
        file.write(f"{job.key}\n")
    rng = np.random.default_rng(job.seed)
    for step in range(1, 6):
        watch(Progress(job.key, step, 5, float(rng.random()), None))
        time.sleep(0.01)
    items = rng.random((2, ITEMS)).astype(np.float32)
    made = standin_jobs.record(job, value=float(items.mean()))
    store.write(made, {"toy-mixed@1/best": items[0], "toy-mixed@1/last": items[1]})
    return made


def main(folder: str, workers: str, count: str) -> int:
    store, jobs = Store(Path(folder)), grid(int(count))

    def watch(event: Event) -> None:
        reason = event.reason if isinstance(event, Broken) else ""
        standin_jobs.say(type(event).__name__, event.key, reason)

    try:
        store.prepare()
    except CsebError as error:
        standin_jobs.say("Refused", error)
        return MISTAKE
    done = store.done(job.key for job in jobs)
    todo = [job for job in jobs if job.key not in done]
    return launch(todo, store, Local(int(workers)), watch, target=TARGET).exit_code


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
