"""The runs of a recommendation: ordinary jobs, whose records in a folder are all that is remembered."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from statistics import fmean

import numpy as np
import numpy.typing as npt

from cseb.analysis.item_scores import Data, ItemScores
from cseb.analysis.paired import Sample
from cseb.analysis.stats import score
from cseb.encoder.linear_choice import resolved
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.expected_time import makespan
from cseb.experiment.grid import RERUN, Grid
from cseb.experiment.plan import plan, versioned
from cseb.launchers import launch
from cseb.launchers.events import Broken, Event, Finished, Watch
from cseb.launchers.local import Local
from cseb.launchers.signals import Stop
from cseb.progress import unheard
from cseb.records.bookkeeping import hide
from cseb.records.record import RecordSummary
from cseb.records.store import Store
from cseb.tasks.evaluate import load_task
from cseb.tasks.names import parse_tasks
from cseb.tasks.pairs import RatedPairs

NAME = "recommend"  # of the benchmark that records say they belong to
Show = Callable[[Grid], AbstractContextManager[Watch]]  # makes what is told of every event of a grid


@dataclass(slots=True)
class Runs:
    """Runs methods under given seeds, unless the store has their records, and reads their points.

    encoder, corpus, tasks, data_dir, steps, scale, column: as in a benchmark. models: where trained encoders are kept,
    if anywhere. broken: why jobs left no record, by method. made:
    all records of jobs that were asked for, by key. starting: seconds until worker processes had begun, the longest
    seen.
    """

    encoder: str
    corpus: Path
    tasks: str
    data_dir: str
    steps: int
    scale: str
    store: Store
    workers: int
    threads: int
    device: str
    linear: str
    trust_remote_code: bool
    show: Show
    models: Path | None = None
    column: str = ""
    broken: dict[str, str] = field(default_factory=dict)
    made: dict[str, RecordSummary] = field(default_factory=dict)
    starting: float = 0.0

    def grid(self, methods: Sequence[str], seeds: Sequence[int], sizes: Sequence[int]) -> Grid:
        """The jobs of these methods, seeds and sizes; seed after seed. Raises: CsebError."""
        benchmark = Benchmark(
            name=NAME,
            methods=",".join(methods),
            encoder=self.encoder,
            corpus=str(self.corpus),
            column=self.column,
            sizes=tuple(sizes),
            seeds=max(seeds) + 1,
            tasks=self.tasks,
            data_dir=self.data_dir,
            scale=self.scale,
            steps=self.steps,
        )
        jobs = plan(
            benchmark,
            threads=self.threads,
            device=self.device,
            trust_remote_code=self.trust_remote_code,
            linear=resolved(self.linear, self.threads, self.device),
        )
        wanted = [job for job in jobs if job.seed in set(seeds)]
        grid = Grid.of(benchmark, wanted, self.store, self.workers, models=self.models, changed=RERUN)
        self.made |= {job.key: grid.records[job.key] for job in wanted if job.key in grid.records}
        return grid

    def expected(self, grid: Grid) -> float | None:
        """Seconds until the jobs of a grid have run; None if unknown."""
        # what is not trained has never been timed: it is scored as the others are, and takes less than any of them
        known = [self.likely(job.label) or (0.0 if job.recipe.steps == 0 else None) for job in grid.todo]
        if None in known:
            return None
        return makespan([one for one in known if one is not None], self.workers) + (self.starting if known else 0.0)

    def likely(self, method: str) -> float | None:
        """Seconds of a job of this method: the mean of its records; None without any."""
        took = [record.cost.seconds for record in self.made.values() if record.method == method]
        return fmean(took) if took else None

    def run(self, grid: Grid, deadline: float = inf, reserve: Callable[[], float] = lambda: 0.0) -> bool:
        """Run what has no record; False if the clock stopped it.

        deadline: by time.monotonic(). reserve: seconds before it that belong to what comes after this grid, asked again
        at every event, for each job that ends says more of them. Raises: KeyboardInterrupt for Ctrl-C and SIGTERM,
        CsebError before anything trains.
        """
        if not grid.todo:
            return True
        late, first = False, True

        def is_late() -> bool:
            return time.monotonic() + reserve() >= deadline

        if is_late():
            return False
        grid.check()
        self.store.prepare(*[self.models] if self.models else [])
        hide(self.store.folder)
        labels = {job.key: job.label for job in grid.jobs}
        began = time.monotonic()
        with unheard(), self.show(grid) as watch:

            def hear(event: Event) -> None:
                nonlocal late, first
                watch(event)
                if isinstance(event, Finished):
                    if first:
                        self.starting = max(self.starting, time.monotonic() - began - event.record.cost.seconds)
                    first = False
                    self.made[event.key] = event.record
                elif isinstance(event, Broken):
                    self.broken[labels[event.key]] = event.reason
                if is_late():
                    late = True
                    raise Stop

            again = frozenset(grid.records) & {job.key for job in grid.todo}
            local = Local(self.workers, deadline - reserve())
            summary = launch(grid.todo, self.store, local, hear, models=self.models, again=again)
        for job in grid.jobs:
            if (record := self.store.find(job.key)) is not None:
                self.made[job.key] = record
        if summary.stopped and not late and not is_late():
            raise KeyboardInterrupt
        return not summary.stopped or all(job.key in self.made for job in grid.jobs)

    def samples(self, methods: Iterable[str], seeds: Iterable[int], size: int, tasks: str) -> dict[str, Sample]:
        """Points of each method that has any, on these tasks, with what the clusters of their items contribute."""
        names = [versioned(task) for task in parse_tasks(tasks)]
        items = ItemScores(self.store.read_items, self._load)
        found = {}
        for method in methods:
            runs = self._records(method, seeds, size)
            points = {
                seed: value for seed in sorted(runs) if not isinstance(value := score(runs[seed], names, "last"), str)
            }
            if points:
                contributions, lacking = items.contributions({seed: runs[seed] for seed in points}, names, "last")
                found[method] = Sample(method, points, contributions, lacking)
        return found

    def items(
        self, methods: Iterable[str], seeds: Iterable[int], size: int, task: str
    ) -> dict[str, dict[int, npt.NDArray[np.float64]]]:
        """What each finished run of each method did on each item of one task, by method and seed."""
        [one] = parse_tasks(task)
        name = f"{versioned(one)}/last"
        found = {}
        for method in methods:
            done = {seed: run for seed, run in self._records(method, seeds, size).items() if run.status == "done"}
            held = {seed: self.store.read_items(run.key)[name].astype(np.float64) for seed, run in done.items()}
            if finite := {seed: each for seed, each in held.items() if np.isfinite(each).all()}:
                found[method] = finite
        return found

    def pairs(self, task: str) -> list[tuple[str, str]]:
        """The sentences of a task of rated pairs, without their ratings."""
        [one] = parse_tasks(task)
        loaded = load_task(one, None)
        assert isinstance(loaded, RatedPairs)
        return [pair for each in loaded.subsets for pair in zip(each.left, each.right, strict=True)]

    def _records(self, method: str, seeds: Iterable[int], size: int) -> dict[int, RecordSummary]:
        """By seed; a method is named as records do."""
        wanted = set(seeds)
        return {
            record.seed: record
            for record in sorted(self.made.values(), key=lambda one: one.seed)
            if record.method == method and record.subset.size == size and record.seed in wanted
        }

    def _load(self, name: str) -> Data:
        """A task by the name that records have it under, which does not say where a file lies."""
        folder = Path(self.data_dir) if self.data_dir else None
        return load_task(next(task for task in parse_tasks(self.tasks) if task.name == name), folder)

    @property
    def seconds(self) -> float:
        """What all jobs so far took, in this call and in earlier ones, by the clock of one worker after the other."""
        return sum(record.cost.seconds for record in self.made.values())
