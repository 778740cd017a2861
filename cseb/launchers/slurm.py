"""Launcher for Slurm job arrays, through submitit: each allocation runs a pack of jobs.

A pack whose allocation ended early, by preemption, a lost node or its time limit, is submitted again with what has no
record. The queue and the records say all there is to know, so a cluster without accounting will do.
"""

from __future__ import annotations

import contextlib
import getpass
import io
import math
import os
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
from cseb.launchers.devices import gpus
from cseb.launchers.events import Broken, Event, Finished, Started, Watch
from cseb.launchers.job_runner import JobRunner
from cseb.launchers.local import THREADS, Local
from cseb.launchers.signals import Stop, on_signals, signals_wait, stop
from cseb.records.progress import Progress
from cseb.records.store import Store

OURS = ("array", "chdir", "error", "nodes", "ntasks", "ntasks_per_node", "open_mode", "output", "signal", "wrap")
TRIES = 3  # allocations in which a job may be lost without any other getting done
EACH = 4  # jobs per worker of an allocation, where nothing else is said
MOST = 500  # allocations of an array, where nothing else is said; Slurm's own limit is 1,001 by default
PAUSES = (0.5, 30.0)  # seconds between checks of queue and records, growing while nothing happens

Pack = tuple[Job, ...]
Stamp = tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Slurm:
    """options: of sbatch, by long name. pack: jobs of an allocation; workers: how many at a time; None: by what it has.

    per_gpu: jobs that share a GPU.
    """

    options: Mapping[str, str] = field(default_factory=dict)
    pack: int | None = None
    workers: int | None = None
    per_gpu: int = 1

    def __post_init__(self) -> None:
        """Raises: BadBenchmark for an option that is set here."""
        for name in self.options:
            if name.replace("-", "_") in OURS:
                raise BadBenchmark(f"`slurm` {name}=...: set by cseb itself; other options of sbatch are allowed")

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job until it ends or three allocations were lost on it. Raises: BadBenchmark if sbatch refuses."""
        if not jobs:
            return
        size = self.pack or max(EACH * self._workers(jobs[0]), math.ceil(len(jobs) / MOST))
        count = math.ceil(len(jobs) / size)
        packs = [tuple(jobs[number::count]) for number in range(count)]  # long jobs come first: each gets some
        _Queue(self, self._executor(runner.store.folder / "slurm", jobs[0]), runner, tell, jobs).work_off(packs)

    def _workers(self, job: Job) -> int:
        """Jobs at a time in an allocation, as far as it can be known before there is one."""
        cpus = self.options.get("cpus-per-task", self.options.get("cpus_per_task", ""))
        if job.protocol.device == "cuda":
            return self.workers or self.per_gpu
        return self.workers or max(1, (int(cpus) if cpus.isdecimal() else 1) // job.protocol.threads)

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
            time=None,  # that of the partition, in place of submitit's five minutes
            wckey=None,
            array_parallelism=10**6,
            use_srun=False,  # one task on one node: no step of its own, whose CPUs would have to be asked for again
            setup=[f"export {name}={job.protocol.threads}" for name in THREADS],
            additional_parameters={name.replace("-", "_"): value for name, value in self.options.items()},
        )
        return executor


class _Queue:
    """What is submitted, and what is known of it."""

    def __init__(self, slurm: Slurm, executor: Any, runner: JobRunner, tell: Watch, jobs: Sequence[Job]) -> None:
        self.slurm, self.executor, self.runner, self.tell = slurm, executor, runner, tell
        self.before = {job.key: _stamp(runner.store, job.key) for job in jobs}  # a record that is to be made afresh
        self.missing = set(self.before)  # keys
        self.started: set[str] = set()
        self.tries = Counter[str]()
        self.out: dict[str, tuple[Any, Pack]] = {}  # by the id of the array task
        self.arrays: set[str] = set()
        self.complained = False

    def work_off(self, packs: list[Pack]) -> None:
        """Submit packs and what is left of them until nothing is; whatever ends this takes them from the queue."""
        pause = PAUSES[0]
        try:
            while packs or self.out:
                self._submit(packs)
                time.sleep(pause)
                queued = self._queued()  # before the records are read: what has ended has written its last by then
                missing = len(self.missing)
                self._read_records()
                self._listen()
                packs = [pack for name in self.out.keys() - queued for pack in self._again(*self.out.pop(name)) if pack]
                pause = PAUSES[0] if len(self.missing) < missing or packs else min(PAUSES[1], 1.5 * pause)
        finally:
            if self.out:
                with signals_wait():
                    subprocess.run(["scancel", "--quiet", *sorted(self.arrays)], check=False)  # noqa: S603, S607

    def _submit(self, packs: list[Pack]) -> None:
        """One array of all packs. Raises: BadBenchmark."""
        if not packs:
            return
        import submitit

        count = len(packs)
        before = [{job.key: self.before[job.key] for job in pack} for pack in packs]
        arguments = [self.runner] * count, packs, before, [self.slurm] * count
        with signals_wait() as received:  # what is submitted must be known, or nobody could cancel it
            errors = io.StringIO()
            try:
                with contextlib.redirect_stderr(errors):
                    sent = self.executor.map_array(_work, *arguments)
            except submitit.core.utils.FailedJobError as error:
                lines = [line.strip() for line in errors.getvalue().splitlines()] or [str(error)]
                raise BadBenchmark(f"`launcher` slurm: {'; '.join(lines)}") from None
            self.out |= {job.job_id: (job, pack) for job, pack in zip(sent, packs, strict=True)}
            self.arrays |= {job.job_id.partition("_")[0] for job in sent}
        if received:
            raise Stop

    def _queued(self) -> set[str]:
        """Ids of our jobs that are pending, running or completing.

        If squeue fails, because the controller is busy or restarts: as long as a record is missing, those that left no
        result. Allocations go on without it.
        """
        command = ["squeue", "--noheader", "--array", "--format=%i", f"--user={getpass.getuser()}"]
        found = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
        if found.returncode == 0:
            return set(found.stdout.split())
        if not self.complained:
            message = "; ".join(found.stderr.split("\n")).strip("; ") or f"exit code {found.returncode}"
            sys.stderr.write(f"cseb: squeue failed and will be retried: {message}\n")
            self.complained = True
        return {name for name, (sent, _) in self.out.items() if self.missing and not sent.paths.result_pickle.exists()}

    def _read_records(self) -> None:
        store = self.runner.store
        for key in self.missing & store.keys():
            if _stamp(store, key) == self.before[key]:
                continue
            try:
                self._end(Finished(key, store.read(key)))
            except BadResults:  # a shared folder may show a name before its content
                continue

    def _listen(self) -> None:
        """Tell the progress of running jobs, which the launchers in the allocations write into their claims."""
        for claim in claims_of(self.runner.store.folder)[0]:
            if claim.key in self.missing:
                self._start(claim.key)
                self.tell(Progress(claim.key, claim.step, claim.steps, claim.loss, claim.dev))

    def _start(self, key: str) -> None:
        if key not in self.started:
            self.started.add(key)
            self.tell(Started(key))

    def _end(self, event: Finished | Broken) -> None:
        self.missing.discard(event.key)
        self._start(event.key)
        self.tell(event)

    def _again(self, sent: Any, pack: Pack) -> list[Pack]:
        """What is left of a pack whose allocation has ended.

        If nothing at all came of it each job goes on alone, so that one which kills its allocation harms no other.
        """
        reason, detail = f"its allocation {sent.job_id} ended without a record; see {sent.paths.stderr}", ""
        if sent.paths.result_pickle.exists():
            try:
                for event in sent.result():
                    if event.kind == "died":
                        reason = event.reason
                    elif event.key in self.missing:
                        self._end(event)
            except Exception as error:  # whatever is wrong there, such as a node without cseb
                detail = str(error)
        left = tuple(job for job in pack if job.key in self.missing)
        if len(left) < len(pack):
            return [left]
        self.started -= {job.key for job in left}
        for job in left:
            self.tries[job.key] += 1
            if self.tries[job.key] == TRIES:
                self._end(Broken(job.key, "died", reason, detail))
        return [(job,) for job in left if job.key in self.missing]


def _stamp(store: Store, key: str) -> Stamp:
    """Tells one file of a record from the next."""
    try:
        found = (store.runs / f"{key}.json").stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def _work(runner: JobRunner, pack: Pack, before: Mapping[str, Stamp], slurm: Slurm) -> list[Broken]:
    """In an allocation: run what has no new record; after a requeue by Slurm some have. Returns what left none."""
    broken: list[Broken] = []

    def note(event: Event) -> None:
        if isinstance(event, Broken):
            broken.append(event)

    left = [job for job in pack if _stamp(runner.store, job.key) == before[job.key]]
    if left:
        with on_signals(stop):  # SIGTERM is how Slurm ends an allocation
            Local(slurm.workers or _fit(left[0], slurm.per_gpu)).run(runner, left, note)
    return broken


def _fit(job: Job, per_gpu: int) -> int:
    """Jobs that fit into this allocation at a time."""
    if job.protocol.device == "cuda":
        return max(1, len(gpus()) * per_gpu)
    return max(1, int(os.environ.get("SLURM_CPUS_ON_NODE", "1")) // job.protocol.threads)
