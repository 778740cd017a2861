"""Launcher for Slurm job arrays, through submitit: each allocation runs a pack of jobs.

A pack whose allocation ended early, by preemption, a lost node or its time limit, is submitted again without the jobs
that have a record. State is read from squeue and the records, so a cluster without accounting is enough.
"""

from __future__ import annotations

import contextlib
import getpass
import io
import math
import os
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cseb.errors import BadBenchmark, BadResults
from cseb.experiment.job import Job
from cseb.launchers.claims import claims_of
from cseb.launchers.job_runner import Broken, Event, Finished, JobRunner, Started, Watch
from cseb.launchers.local import THREADS, Local, gpus
from cseb.launchers.signals import Stop, deferred_signals, handled_signals, stop
from cseb.records.store import Store

RESERVED = ("array", "chdir", "error", "nodes", "ntasks", "ntasks_per_node", "open_mode", "output", "signal", "wrap")
TRIES = 3  # allocations in which a job may be lost without any other job being done
JOBS_PER_WORKER = 4  # in one allocation
MAX_ALLOCATIONS = 500  # of one array; Slurm's own limit is 1,001 by default
PAUSES = (0.5, 30.0)  # seconds between reads of queue and records: shortest and longest

Pack = tuple[Job, ...]
Stamp = tuple[int, int] | None  # inode and modification time of a record


@dataclass(frozen=True, slots=True)
class Slurm:
    """Launch jobs with Slurm.

    options: long ones of sbatch by name. pack, workers: jobs of an allocation, and at a time in it; None chooses by
    what the allocation has. per_gpu: jobs that share a GPU.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    pack: int | None = None
    workers: int | None = None
    per_gpu: int = 1

    def __post_init__(self) -> None:
        """Raises: BadBenchmark for an option that cseb sets itself."""
        for name in self.options:
            if name.replace("-", "_") in RESERVED:
                raise BadBenchmark(f"`launcher` slurm: {name} is set by cseb itself; leave it out")

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job until it ends or three allocations were lost on it. Raises: BadBenchmark if sbatch refuses."""
        if not jobs:
            return
        size = self.pack or max(JOBS_PER_WORKER * self._workers(jobs[0]), math.ceil(len(jobs) / MAX_ALLOCATIONS))
        count = math.ceil(len(jobs) / size)
        packs = [tuple(jobs[number::count]) for number in range(count)]  # long jobs come first: each pack gets some
        _Queue(self, self._executor(runner.store.folder / "slurm", jobs[0]), runner, tell, jobs).run(packs)

    def _workers(self, job: Job) -> int:
        """Return the number of jobs at a time in an allocation, as far as the options of sbatch tell."""
        if self.workers:
            return self.workers
        if job.protocol.device == "cuda":
            return requested_gpus(self.options) * self.per_gpu
        cpus = self.options.get("cpus-per-task", self.options.get("cpus_per_task", ""))
        return max(1, (int(cpus) if cpus.isdecimal() else 1) // job.protocol.threads)

    def _executor(self, folder: Path, job: Job) -> Any:
        try:
            import submitit
        except ImportError:
            raise BadBenchmark("`launcher` slurm: submitit is not installed; pip install 'cseb[slurm]'") from None
        try:
            executor = submitit.SlurmExecutor(folder)
        except RuntimeError:
            raise BadBenchmark("`launcher` slurm: srun not found; run the command on a node of the cluster") from None
        executor.update_parameters(
            job_name="cseb",
            time=None,  # the partition's default, in place of submitit's five minutes
            wckey=None,
            array_parallelism=10**6,
            use_srun=False,  # one task on one node: a job step would have to ask for its CPUs again
            setup=[f"export {name}={job.protocol.threads}" for name in THREADS],
            additional_parameters={name.replace("-", "_"): value for name, value in self.options.items()},
        )
        return executor


def requested_gpus(options: Mapping[str, str]) -> int:
    """Return the GPUs of an allocation by its options of sbatch, such as gres=gpu:a100:8; 1 where they do not tell."""
    for name, value in options.items():
        entries = value.split(",")
        if name == "gres":
            entries = [entry for entry in entries if re.match(r"(gres[:/])?gpu\b", entry)]
        elif name.replace("_", "-") not in ("gpus", "gpus-per-node", "gpus-per-task"):
            continue
        counts = [re.search(r"(?:^|[:=])(\d+)$", entry) for entry in entries]
        if entries:
            return max(1, sum(int(count[1]) if count else 1 for count in counts))
    return 1


class _Queue:
    """The submitted packs and the jobs that have no result yet."""

    def __init__(self, slurm: Slurm, executor: Any, runner: JobRunner, tell: Watch, jobs: Sequence[Job]) -> None:
        self.slurm, self.executor, self.runner, self.tell = slurm, executor, runner, tell
        self.before = {job.key: _stamp(runner.store, job.key) for job in jobs}  # records that are to be replaced
        self.missing = set(self.before)  # keys
        self.started: set[str] = set()
        self.tries = Counter[str]()
        self.submitted: dict[str, tuple[Any, Pack]] = {}  # by the id of the array task
        self.arrays: set[str] = set()
        self.warned = False

    def run(self, packs: list[Pack]) -> None:
        """Submit packs and what remains of them until nothing does; any exception cancels what is in the queue."""
        pause = PAUSES[0]
        try:
            while packs or self.submitted:
                self._submit(packs)
                time.sleep(pause)
                queued = self._queued()  # before the records are read: an ended task has written its last record
                missing = len(self.missing)
                self._read_records()
                self._read_progress()
                ended = self.submitted.keys() - queued
                packs = [pack for name in ended for pack in self._remaining(*self.submitted.pop(name)) if pack]
                pause = PAUSES[0] if len(self.missing) < missing or packs else min(PAUSES[1], 1.5 * pause)
        finally:
            if self.submitted:
                with deferred_signals():
                    subprocess.run(["scancel", "--quiet", *sorted(self.arrays)], check=False)  # noqa: S603, S607

    def _submit(self, packs: list[Pack]) -> None:
        """Submit one array of all packs. Raises: BadBenchmark."""
        if not packs:
            return
        import submitit

        count = len(packs)
        before = [{job.key: self.before[job.key] for job in pack} for pack in packs]
        arguments = [self.runner] * count, packs, before, [self.slurm] * count
        with deferred_signals() as received:  # ids of submitted tasks must be stored, or nobody could cancel them
            errors = io.StringIO()
            try:
                with contextlib.redirect_stderr(errors):
                    tasks = self.executor.map_array(_work, *arguments)
            except submitit.core.utils.FailedJobError as error:
                lines = [line.strip() for line in errors.getvalue().splitlines()] or [str(error)]
                raise BadBenchmark(f"`launcher` slurm: {'; '.join(lines)}") from None
            self.submitted |= {task.job_id: (task, pack) for task, pack in zip(tasks, packs, strict=True)}
            self.arrays |= {task.job_id.partition("_")[0] for task in tasks}
        if received:
            raise Stop

    def _queued(self) -> set[str]:
        """Return the ids of our array tasks that are pending, running or completing.

        If squeue fails, because the controller is busy or restarts, return the tasks that left no result, as long as a
        record is missing. Allocations go on without the controller.
        """
        command = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if answer.returncode == 0:
            return set(answer.stdout.split())
        if not self.warned:
            message = "; ".join(answer.stderr.split("\n")).strip("; ") or f"exit code {answer.returncode}"
            sys.stderr.write(f"cseb: squeue failed and will be retried: {message}\n")
            self.warned = True
        return {
            name for name, (task, _) in self.submitted.items() if self.missing and not task.paths.result_pickle.exists()
        }

    def _read_records(self) -> None:
        store = self.runner.store
        for key in self.missing & store.keys():
            if _stamp(store, key) == self.before[key]:
                continue
            try:
                self._end(Finished(key, store.read(key)))
            except BadResults:  # a shared folder may show a name before its content
                continue

    def _read_progress(self) -> None:
        """Report the progress of running jobs, which the launchers in the allocations write into their claims."""
        for claim in claims_of(self.runner.store.folder)[0]:
            if claim.key in self.missing:
                self._start(claim.key)
                self.tell(claim.progress)

    def _start(self, key: str) -> None:
        if key not in self.started:
            self.started.add(key)
            self.tell(Started(key))

    def _end(self, event: Finished | Broken) -> None:
        self.missing.discard(event.key)
        self._start(event.key)
        self.tell(event)

    def _remaining(self, task: Any, pack: Pack) -> list[Pack]:
        """Return packs of the jobs without a result in an allocation that has ended.

        If no job has a result, each one is submitted alone, so that a job which kills its allocation harms no other.
        """
        reason, detail = f"its allocation {task.job_id} ended without a record; see {task.paths.stderr}", ""
        if task.paths.result_pickle.exists():
            try:
                for event in task.result():
                    if event.kind == "died":
                        reason = event.reason
                    elif event.key in self.missing:
                        self._end(event)
            except Exception as error:  # any error of the allocation, such as a node without cseb
                detail = str(error)
        jobs = tuple(job for job in pack if job.key in self.missing)
        if len(jobs) < len(pack):
            return [jobs]
        self.started -= {job.key for job in jobs}
        for job in jobs:
            self.tries[job.key] += 1
            if self.tries[job.key] == TRIES:
                self._end(Broken(job.key, "died", reason, detail))
        return [(job,) for job in jobs if job.key in self.missing]


def _stamp(store: Store, key: str) -> Stamp:
    """Return what changes when a record is written again; None without a record."""
    try:
        status = (store.runs / f"{key}.json").stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _work(runner: JobRunner, pack: Pack, before: Mapping[str, Stamp], slurm: Slurm) -> list[Broken]:
    """Run the jobs of a pack in an allocation and return the events of jobs without a record.

    Jobs whose record is newer than `before` are left out: Slurm itself may requeue an allocation.
    """
    broken: list[Broken] = []

    def note(event: Event) -> None:
        if isinstance(event, Broken):
            broken.append(event)

    jobs = [job for job in pack if _stamp(runner.store, job.key) == before[job.key]]
    if jobs:
        with handled_signals(stop):  # SIGTERM is how Slurm ends an allocation
            Local(slurm.workers or _capacity(jobs[0], slurm.per_gpu)).run(runner, jobs, note)
    return broken


def _capacity(job: Job, per_gpu: int) -> int:
    """Return how many jobs fit into this allocation at a time."""
    if job.protocol.device == "cuda":
        return max(1, len(gpus()) * per_gpu)
    return max(1, int(os.environ.get("SLURM_CPUS_ON_NODE", "1")) // job.protocol.threads)
