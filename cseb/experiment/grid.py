"""The jobs of a grid: those that have no record yet, in which order and how long they run, and their list on disk."""

from __future__ import annotations

import csv
import heapq
import io
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import fmean

from cseb.data.bounded import read_text
from cseb.data.files import hide, write_whole, written
from cseb.errors import BadBenchmark, BadData, BadResults, BadSpec
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.benchmark import Benchmark
from cseb.experiment.job import Job
from cseb.methods.spec import refuse_unsaved
from cseb.progress import counted, tell
from cseb.records.record import Record
from cseb.records.store import Store


def expected_seconds(jobs: Iterable[Job], records: Iterable[Record]) -> dict[str, float | None]:
    """Return the expected seconds of each job by key; None if no similar record exists.

    A record is similar if it has the same method, encoder and device. Its training time is scaled to the number of
    steps of the job.
    """
    similar: dict[tuple[str, str, str], list[Record]] = {}
    for record in records:
        if record.status == "done":
            similar.setdefault((record.method, record.encoder.sha256, record.protocol.device), []).append(record)
    seconds: dict[str, float | None] = {}
    for job in jobs:
        records_of = similar.get((job.label, job.encoder.sha256, job.protocol.device), [])
        seconds[job.key] = fmean(_scaled(record, job.recipe.steps) for record in records_of) if records_of else None
    return seconds


def _scaled(record: Record, steps: int) -> float:
    trained = record.trace.steps if record.trace else 0
    factor = steps / trained if trained else 1.0
    return record.cost.train_seconds * factor + record.cost.score_seconds


def longest_first(jobs: Sequence[Job], seconds: Mapping[str, float | None], at_once: int) -> list[Job]:
    """Return the jobs in the order to run them: long jobs first, so that no worker idles at the end.

    Seeds stay in order, so that an interrupted grid is a complete grid of fewer seeds. Where `at_once` jobs are half a
    seed or more, this would waste up to half of the time, and seeds are mixed. Jobs of unknown length come first,
    ordered by their number of training examples.
    """
    rounds = len(jobs) / max(1, len({job.seed for job in jobs})) / max(1, at_once)

    def place(job: Job) -> tuple[int, float, int]:
        expected, recipe = seconds.get(job.key), job.recipe
        length = math.inf if expected is None else expected
        return job.seed if rounds > 2 else 0, -length, -recipe.steps * recipe.batch_size

    return sorted(jobs, key=place)


def makespan(seconds: Iterable[float], workers: int) -> float:
    """Return when the last job ends if each job goes to the next free worker, in this order."""
    free = [0.0] * max(1, workers)
    for duration in seconds:
        heapq.heapreplace(free, free[0] + duration)
    return max(free)


LONGEST_PLAN = 2**28  # bytes
FIELDS = ("key", "method", "fraction", "seed")


@dataclass(frozen=True, slots=True)
class Planned:
    """A job as a plan, a record or a claim names it."""

    label: str
    fraction: float
    seed: int


def plan_text(jobs: Iterable[Job], earlier: Mapping[str, Planned] | None = None) -> str:
    """Return the jobs of a grid as a table, one in a line, after those planned earlier."""
    out = io.StringIO()
    writer = csv.writer(out, dialect="excel-tab", lineterminator="\n")
    writer.writerow(FIELDS)
    rows = dict(earlier or {})
    rows |= {job.key: Planned(job.label, job.fraction, job.seed) for job in jobs}
    writer.writerows((key, job.label, job.fraction, job.seed) for key, job in rows.items())
    return out.getvalue()


def read_plan(path: Path) -> dict[str, Planned]:
    """Return the jobs in such a table by key, as far as it can be read."""
    jobs: dict[str, Planned] = {}
    with suppress(BadData, OSError, ValueError, KeyError, TypeError, csv.Error):
        if path.is_file():
            text = read_text(path, LONGEST_PLAN)
            for row in csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"):
                job = Planned(row["method"], float(row["fraction"]), int(row["seed"]))
                if 0 <= job.fraction <= 1:
                    jobs[row["key"]] = job
    return jobs


@dataclass(frozen=True)  # no slots: how long jobs are likely to take is worked out once
class Grid:
    """The jobs of a benchmark, the folder of records with its content at first, and the jobs to run."""

    benchmark: Benchmark
    jobs: Sequence[Job]
    store: Store
    workers: int
    records: Mapping[str, Record]
    todo: Sequence[Job]

    @classmethod
    def of(
        cls,
        benchmark: Benchmark,
        jobs: Sequence[Job],
        store: Store,
        workers: int,
        records: Mapping[str, Record],
        again: Collection[str] = (),
        models: Path | None = None,
    ) -> Grid:
        """Return a grid with the jobs that have no record yet, without making a folder.

        workers: jobs at a time. records: those in the folder, by key. again: keys of jobs to run although they have a
        record. models: the folder of trained encoders; None if none are saved. Raises: BadResults.
        """

        def has_model(job: Job) -> bool:
            if models is None or job.purpose == "tuning" or records[job.key].status == "failed":
                return True
            return (models / job.key).is_dir()

        todo = [job for job in jobs if job.key not in records or job.key in again or not has_model(job)]
        archive = store.archive()
        if archive is not None and (sealed := [job.key for job in todo if f"runs/{job.key}.json" in archive]):
            raise BadResults(
                f"{len(sealed)} of the records to replace are in the archive of {store.folder} (such as {sealed[0]}), "
                "which is never changed; use another folder with --results"
            )
        return cls(benchmark, jobs, store, workers, records, todo)

    @property
    def failed(self) -> set[str]:
        """Keys of jobs that failed in an earlier run and are not run again."""
        not_run = {job.key for job in self.jobs} - {job.key for job in self.todo}
        return {key for key in not_run if self.records[key].status == "failed"}

    def prepare(self, models: Path | None = None) -> None:
        """Check the parts of each method, make the folders, and write the plan there; nothing is trained.

        Raises: CsebError.
        """
        for job in self.jobs if models is not None else ():
            refuse_unsaved(job.label, job.method)
        check_parts(self.todo)
        self.store.prepare(*[models] if models else [])
        self._name_trials()
        self._leave_plan()

    def check_encoder(self) -> None:
        """Check the encoder as a run does, if PyTorch is installed. Raises: BadData."""
        from cseb.encoder.passed import has_passed

        job = self.jobs[0]
        folder = Path(job.folder)
        if not has_passed(folder, job.trust_remote_code):
            with suppress(ImportError):
                tell("checking the encoder")
                from cseb.encoder.loading import shape_of

                shape_of(folder, trust_remote_code=job.trust_remote_code)

    @cached_property
    def seconds(self) -> dict[str, float | None]:
        """Expected seconds of each job, by key; None if no similar record exists."""
        return expected_seconds(self.jobs, self.records.values())

    def left(self) -> float | None:
        """Return the expected seconds until all jobs have run; None if the length of a job is unknown."""
        order = longest_first(self.todo, self.seconds, self.workers)
        seconds = [length for job in order if (length := self.seconds[job.key]) is not None]
        return makespan(seconds, self.workers) if len(seconds) == len(order) else None

    def in_order(self) -> Sequence[Job]:
        """Return the jobs to run, long ones first."""
        return self.agreed(longest_first(self.todo, self.seconds, self.workers))

    def agreed(self, todo: Sequence[Job]) -> Sequence[Job]:
        """Return these jobs; if several processes share each job, those of the first process, in its order."""
        protocol = self.jobs[0].protocol
        if protocol.processes == 1:
            return todo
        from cseb.encoder.distributed import agreed

        jobs = {job.key: job for job in self.jobs}
        keys = agreed([job.key for job in todo], protocol.device, protocol.threads)
        if not jobs.keys() >= set(keys):
            raise BadBenchmark("the first process has other jobs: are encoder, corpus and data the same on all hosts?")
        return [jobs[key] for key in keys]

    def _name_trials(self) -> None:
        """Name the trials that chose the values of a run in its record, where another search had chosen the same."""
        again = {job.key for job in self.todo}
        for job in self.jobs:
            record = self.records.get(job.key)
            if record is None or job.tuning in (None, record.tuning) or job.key in again:
                continue
            if not self.store.is_archived(job.key):
                self.store.write(record.model_copy(update={"tuning": job.tuning}), None)

    def _leave_plan(self) -> None:
        """Write the benchmark as a file for `cseb run`, and the list of its jobs for `cseb status`."""
        name, folder = self.benchmark.name, self.store.folder
        hide(folder)
        listed = f"plan-{name}.tsv"
        text = plan_text(self.jobs, read_plan(folder / listed))
        files = {f"benchmark-{name}.yaml": benchmarks.text(self.benchmark), listed: text}
        for file, content in files.items():
            with written(folder / file):
                write_whole(folder / file, [content.encode()])


def check_parts(jobs: Sequence[Job]) -> None:
    """Construct the parts of each method and check them against its encoder. Raises: BadSpec, BadData."""
    distinct = {(job.method.resolved(), job.folder, job.size): job for job in jobs}
    if distinct:
        tell("loading PyTorch")
        from cseb.experiment import train_job
        from cseb.training import build
        from cseb.training.devices import check_precision

        for job in counted(distinct.values(), "checking methods", len(distinct)):
            try:
                if job.protocol.device == "cpu":  # a GPU is asked by the worker that uses it
                    check_precision("cpu", job.recipe.precision)
                build.check(job.method, Path(job.folder), job.trust_remote_code, job.size, train_job.width_of)
            except BadSpec as error:
                raise BadSpec(f"{job.label}: {error}") from None
