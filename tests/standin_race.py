"""A recommendation without training: a clock that jumps, and jobs that last as long and score as a test says."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from cseb.advice import advise as steps
from cseb.advice.questions import POOL
from cseb.experiment.job import Job
from cseb.launchers.events import Event, Finished, Started, Summary
from cseb.launchers.local import Local
from cseb.launchers.signals import Stop
from cseb.records.record import Cost, Record, Score
from cseb.records.store import Store
from tests import standin_jobs
from tests.conftest import OBJECTS, SENTENCES

LINES = [f"{sentence} and {other} {number}" for number in range(4) for sentence in SENTENCES for other in OBJECTS]
METHODS = ("simcse", "simcse+mean", "crops", "ct", "esimcse", "esimcse+mean")
SECONDS = dict(zip(METHODS, (20.0, 50.0, 30.0, 30.0, 25.0, 30.0), strict=True))
POINTS = dict(zip(METHODS, (60.0, 62.0, 64.0, 63.0, 60.0, 61.0), strict=True))
START = 5.0  # seconds until worker processes have loaded their libraries


@dataclass
class World:
    """A machine whose clock moves when jobs end. slow: how much longer they take than was timed."""

    now: float = 0.0
    slow: float = 1.0

    def seconds(self, job: Job) -> float:
        return self.slow * SECONDS.get(job.label, 1.0)

    def launch(
        self, jobs: Sequence[Job], store: Store, launcher: Local, watch: Callable[[Event], None], **_: object
    ) -> Summary:
        """Jobs one after the other on each worker; the launcher ends what runs past its time."""
        self.now += START
        ends, left, done = list[tuple[float, str, Job]](), list(jobs), 0
        try:
            while left or ends:
                while left and len(ends) < launcher.workers:
                    job = left.pop(0)
                    heapq.heappush(ends, (self.now + self.seconds(job), job.key, job))
                    watch(Started(job.key))
                end, _key, job = heapq.heappop(ends)
                self.now = min(end, launcher.until)
                if end > launcher.until:
                    raise Stop
                done += 1
                watch(Finished(job.key, self._record(job, store)))
        except Stop:
            return Summary(len(jobs), done, stopped=True)
        return Summary(len(jobs), done)

    def _record(self, job: Job, store: Store) -> Record:
        noise = np.random.default_rng([job.seed, job.size, len(job.label)]).normal()
        value = POINTS.get(job.label, 59.0 if job.label == "mean" else 50.0) + noise
        scores = tuple(
            Score(task=task, protocol="p@1", select="last", value=value, detail={}, items=10)
            for task in job.protocol.tasks
        )
        cost = Cost(train_seconds=self.seconds(job), score_seconds=0.0, peak_rss_mb=1.0)
        made = standin_jobs.record(job).model_copy(update={"scores": scores, "cost": cost})
        pool = store.folder / POOL
        pairs = len(pool.read_text().splitlines()) - 1 if pool.is_file() else 0
        cosines = np.random.default_rng([job.seed, len(job.label)]).normal(size=pairs).astype(np.float32)
        store.write(made, {f"{task}/last": cosines for task in job.protocol.tasks if pairs})
        return made


def stand_in(monkeypatch: pytest.MonkeyPatch) -> World:
    """Put a world in the place of the machine."""
    made = World()
    for module in ("advice.advise", "advice.budget", "advice.runs", "api.recommend"):
        monkeypatch.setattr(f"cseb.{module}.time.monotonic", lambda: made.now)
    monkeypatch.setattr("cseb.advice.runs.launch", made.launch)
    monkeypatch.setattr(steps, "word_baselines", lambda *_: {})
    monkeypatch.setattr("cseb.advice.advise.fitting", lambda jobs: (list(dict.fromkeys(job.label for job in jobs)), {}))
    return made
