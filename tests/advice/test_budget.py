"""The budget of a recommendation, with a clock that jumps: nothing trains, jobs last as long as the test says."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from cseb.advice import advise as steps
from cseb.advice.options import Options
from cseb.advice.verdict import Recommendation
from cseb.api.recommend import advise
from cseb.errors import BadBenchmark
from cseb.experiment.expected_time import Estimates, Span
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
Asked = Callable[..., Options]
START = 5.0  # seconds until worker processes have loaded their libraries


@dataclass
class World:
    """A machine whose clock moves when jobs end. slow: how much longer they take than was timed."""

    now: float = 0.0
    slow: float = 1.0

    def seconds(self, job: Job) -> float:
        return self.slow * SECONDS.get(job.label, 1.0)

    def estimates(self, jobs: Sequence[Job], workers: int) -> Estimates:
        self.now += 10.0
        return Estimates({job.key: Span.of([SECONDS[job.label]]) for job in jobs})

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
        store.write(made, {})
        return made


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    made = World()
    for module in ("advice.advise", "advice.budget", "advice.runs", "api.recommend"):
        monkeypatch.setattr(f"cseb.{module}.time.monotonic", lambda: made.now)
    monkeypatch.setattr("cseb.advice.runs.launch", made.launch)
    monkeypatch.setattr("cseb.advice.runs.estimates", made.estimates)
    monkeypatch.setattr(steps, "_words", lambda *_: None)
    monkeypatch.setattr("cseb.advice.advise.fitting", lambda jobs: (list(dict.fromkeys(job.label for job in jobs)), {}))
    return made


@pytest.fixture
def asked(tmp_path: Path, tiny: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Asked:
    corpus, pairs = tmp_path / "my.txt", tmp_path / "mine.tsv"
    corpus.write_text("\n".join(LINES))
    rows = [f"{LINES[n]}\t{LINES[n + 64]}\t{n % 4}" for n in range(40)]
    pairs.write_text("\n".join(["sentence1\tsentence2\tscore", *rows]))
    made = Options(
        corpus=str(corpus), encoder=str(tiny("bert")), budget=1.0, judge=str(pairs), tasks="", teacher="", ask=0,
        methods=",".join(METHODS), steps=1, out=None, results=None, data_dir="", column="", workers=2, threads=1,
        linear="blas", device="cpu", probe=True, trust_remote_code=False,
    )  # fmt: skip
    monkeypatch.chdir(tmp_path)
    return lambda minutes, out=None, results=None: replace(made, budget=minutes, out=out, results=results)


def run(options: Options, world: World) -> Recommendation:
    world.now = 0.0
    return advise(options)


@pytest.mark.parametrize(
    ("minutes", "slow", "model"), [(6, 1.0, True), (6, 2.0, True), (9, 0.5, False), (15, 2.0, True)]
)
def test_the_budget_is_kept_and_ends_in_an_estimate(
    asked: Asked,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    minutes: float,
    slow: float,
    model: bool,
) -> None:
    def trained(found: Recommendation, *_: object) -> None:
        world.now += START + slow * SECONDS.get(found.chosen, 1.0)

    monkeypatch.setattr("cseb.advice.model.train_and_export", trained)
    world.slow = slow
    found = run(asked(minutes, tmp_path / "model" if model else None), world)
    assert world.now <= 1.1 * 60 * minutes
    assert found.estimate is not None
    assert found.estimate.seeds >= 2
    if slow <= 1:  # as long as was expected, or less
        assert found.estimate.seeds == 5
        assert {row.seeds for row in found.rows} >= {1}
        assert all(row.seeds for row in found.rows)


def test_a_round_has_as_many_of_the_best_as_there_is_time_for(asked: Asked, world: World) -> None:
    found = run(asked(6.0), world)
    fates = {row.method: row.fate for row in found.rows}
    assert "no time for round 2" in fates.values()
    twice = {row.method for row in found.rows if row.seeds == 2}
    assert len(twice) == 2
    assert all(fates[method] not in ("no time for round 2", "lower half, round 1") for method in twice)
    whole = run(asked(30.0, results=Path("whole")), world)
    assert "no time for round 2" not in {row.fate for row in whole.rows}
    assert max(row.seeds for row in whole.rows) == 4


def test_what_earlier_calls_have_spent_counts(asked: Asked, world: World) -> None:
    run(asked(6.0), world)
    before = world.now
    run(asked(12.0), world)
    assert before < before + world.now <= 1.1 * 60 * 12
    again = run(asked(12.0), world)
    assert world.now < 60  # nothing is left to run
    assert again.estimate is not None


def test_a_budget_too_small_is_one_line_before_anything_runs(asked: Asked, world: World) -> None:
    with pytest.raises(BadBenchmark, match=r"--budget of 2 min is too short: a first round of 6 methods") as caught:
        run(asked(2.0), world)
    assert "\n" not in str(caught.value)
    minutes = float(str(caught.value).partition("take --budget ")[2].split(",")[0])
    assert run(asked(minutes), world).estimate is not None  # what it advises is enough


def test_jobs_that_nobody_has_timed_leave_room_for_the_estimate(asked: Asked, world: World) -> None:
    found = run(replace(asked(6.0), probe=False), world)
    assert world.now <= 1.1 * 360
    assert found.estimate is not None
