"""Launcher for this machine: jobs in this process or in worker processes.

The parent holds the queue and hands each worker one job at a time over a pipe of its own: no lock is shared, so a
worker that is killed can take nothing with it but its job. Torch is loaded in the workers only.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from cseb.errors import OUT_OF_MEMORY
from cseb.experiment.job import Job
from cseb.launchers.claims import Claims
from cseb.launchers.devices import VISIBLE, gpus, least_used
from cseb.launchers.events import Broken, Event, Finished, Started, Watch
from cseb.launchers.job_runner import JobRunner, first
from cseb.launchers.signals import Stop, deferred_signals, signal_name
from cseb.records.progress import Progress

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
# Jobs after which a worker is replaced: whatever torch, its libraries or we ourselves never give back, goes with it.
# A start takes some seconds of imports, so that this costs a few hundredths of a second a job.
LIFE = 100
PATIENCE = 3.0  # seconds a worker is given to end before it is killed
START = 600.0  # seconds a worker is given to start and to load its libraries, which no time limit of jobs counts
WAIT = 2.0  # seconds between two attempts to claim a job that another launcher runs
LOOK = 3600.0  # at most so many seconds between two checks of the clock: the system refuses to wait for a month
# glibc raises the thresholds by itself until freed tensors are never given back: a worker grew by a sixth in thirty
# jobs. Every large tensor is then mapped anew; in huge pages, where Linux gives them on request, that is a tenth of the
# page faults.
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 20),
    "THP_MEM_ALLOC_ENABLE": "1",  # PyTorch's own
}


@dataclass(frozen=True, slots=True)
class Local:
    """`workers` jobs at a time; one means this very process for jobs on a CPU without a time limit.

    until: when worker processes are ended as by Ctrl-C, by time.monotonic(); what this very process does, its caller
    has to end at an event.
    """

    workers: int = 1
    until: float = math.inf

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job once."""
        with Claims(runner.store.folder) as claims:

            def told(event: Event) -> None:
                claims.update(event)
                tell(event)

            alone = self.workers == 1 and runner.time_limit is None
            # A CUDA error can make a process unusable, so GPU jobs run in worker processes, which can be replaced.
            if alone and all(job.protocol.device == "cpu" or job.protocol.processes > 1 for job in jobs):
                _in_this_process(runner, deque(jobs), told, claims)
            else:
                names = gpus() if any(job.protocol.device == "cuda" for job in jobs) else ()
                _Pool(runner, told, deque(jobs), self.workers, claims, names, self.until).run()


def _in_this_process(runner: JobRunner, waiting: deque[Job], tell: Watch, claims: Claims) -> None:
    while waiting:
        if waiting[0].protocol.processes > 1:  # the processes of a job take all jobs in the same order
            job = waiting.popleft()
            if first():
                claims.claim(job, force=True)
        elif (claimed := claims.next_job(waiting)) is not None:
            job = claimed
        else:
            time.sleep(WAIT)
            continue
        tell(Started(job.key))
        tell(runner.attempt(job, tell))


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, the job it holds and since when, by a clock that does not jump.

    since: in the future while it starts. gpu: the one it sees, "" for all or none. jobs: how many it has been given.
    """

    process: BaseProcess
    pipe: Connection
    gpu: str
    job: Job
    since: float = 0.0
    jobs: int = 0

    def hand_over(self, job: Job) -> bool:
        """Give it a job when it is free; False when it is gone."""
        self.job, self.since, self.jobs = job, time.monotonic() + START, self.jobs + 1
        try:
            self.pipe.send(job)
        except OSError:
            return False
        return True


@dataclass(slots=True)
class _Pool:
    """The queue and the workers that are busy with it."""

    runner: JobRunner
    tell: Watch
    waiting: deque[Job]
    workers: int
    claims: Claims
    gpus: Sequence[str] = ()
    until: float = math.inf
    busy: dict[Connection, _Worker] = field(default_factory=dict)

    def run(self) -> None:
        """Until every job has been tried; whatever ends this ends the workers too."""
        try:
            while self.waiting or self.busy:
                while len(self.busy) < self.workers and self._start():
                    pass
                if not self.busy:
                    time.sleep(WAIT)
                for pipe in wait(list(self.busy), self._patience()) if self.busy else ():
                    assert isinstance(pipe, Connection)  # nothing else was waited for
                    self._hear(self.busy[pipe])
                if time.monotonic() >= self.until:
                    raise Stop
                for worker in self._late():
                    self._stop(worker)
        finally:
            with deferred_signals():  # a second Ctrl-C must not keep the workers from being ended
                for worker in self.busy.values():
                    worker.process.terminate()
                for worker in self.busy.values():
                    _end(worker)

    def _start(self) -> bool:
        """Start a worker for the next job; return False if there is none that this launcher can claim.

        Each start uses up a job, so that workers that cannot start do not go on forever.
        """
        if (job := self.claims.next_job(self.waiting)) is None:
            return False
        worker = _started(self.runner, job, least_used(self.gpus, [each.gpu for each in self.busy.values()]))
        self.busy[worker.pipe] = worker
        worker.hand_over(job)
        self.tell(Started(job.key))
        return True

    def _hear(self, worker: _Worker) -> None:
        event = _next(worker)
        if event is None:
            worker.since = time.monotonic()
            return
        self.tell(event)
        if isinstance(event, Progress):
            return
        if worker.jobs < LIFE and not _spent(event) and (job := self.claims.next_job(self.waiting)) is not None:
            if worker.hand_over(job):
                self.tell(Started(job.key))
                return
            self.claims.release(job.key)
            self.waiting.appendleft(job)
        del self.busy[worker.pipe]
        _end(worker)

    def _patience(self) -> float | None:
        """Seconds until the next job, or all of them, may be too late, None without a limit."""
        limit = math.inf if self.runner.time_limit is None else self.runner.time_limit
        oldest = min((worker.since for worker in self.busy.values()), default=time.monotonic())
        end = min(oldest + limit, self.until, math.inf if self._full() else time.monotonic() + WAIT)
        return None if end == math.inf else min(LOOK, max(0.0, end - time.monotonic()))

    def _full(self) -> bool:
        """Whether no worker waits for a job that another launcher has claimed."""
        return not self.waiting or len(self.busy) == self.workers

    def _late(self) -> list[_Worker]:
        limit = math.inf if self.runner.time_limit is None else self.runner.time_limit
        return [worker for worker in self.busy.values() if time.monotonic() - worker.since >= limit]

    def _stop(self, worker: _Worker) -> None:
        """A job that hangs would not listen: its process is killed, and another one takes its place."""
        worker.process.kill()
        del self.busy[worker.pipe]
        _end(worker)
        self.tell(
            Broken(worker.job.key, "late", f"exceeded the time limit of {self.runner.time_limit:g} s (--time-limit)")
        )


def _started(runner: JobRunner, job: Job, gpu: str) -> _Worker:
    """A new process. Ctrl-C reaches the whole group of processes; only the parent answers it."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    for name, value in MALLOC.items():
        os.environ.setdefault(name, value)  # read when a process starts
    resource_tracker.ensure_running()  # when it starts, it unblocks SIGINT: so it starts first
    process = context.Process(target=_work, args=(theirs, runner, job.protocol.threads, gpu), daemon=True)
    with deferred_signals() as received:
        process.start()
    if received:
        process.terminate()
        raise Stop
    theirs.close()
    return _Worker(process, ours, gpu, job)


def _next(worker: _Worker) -> Progress | Finished | Broken | None:
    """What the worker says, None as it begins its job, or that it is dead."""
    try:
        event = worker.pipe.recv()
        assert isinstance(event, Progress | Finished | Broken | None)
        return event
    except (EOFError, OSError):
        worker.process.join(PATIENCE)
        code = worker.process.exitcode
        if code is None or code >= 0:
            return Broken(worker.job.key, "died", f"the worker ended with exit code {code}")
        cause = f"the worker was killed by {signal_name(-code)}"
        hint = "; out of memory? try fewer --workers" if -code == signal.SIGKILL else ""
        return Broken(worker.job.key, "died", cause + hint)


def _spent(event: Finished | Broken) -> bool:
    """Return whether a worker must be replaced: its memory was exhausted, or its GPU fails every job after this one."""
    if isinstance(event, Broken):
        return event.kind in ("memory", "device")
    return event.record.failure is not None and event.record.failure.reason.startswith(OUT_OF_MEMORY)


def _end(worker: _Worker) -> None:
    """No process is left behind: a closed pipe tells a worker to leave, and one that does not is killed."""
    worker.pipe.close()
    worker.process.join(PATIENCE)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.process.close()


def _work(pipe: Connection, runner: JobRunner, threads: int, gpu: str) -> None:
    """A worker's life: jobs in, events out, until the pipe is closed."""
    for name in THREADS:
        os.environ[name] = str(threads)  # read when torch and tokenizers are loaded, which is not yet
    if gpu:
        os.environ[VISIBLE] = gpu
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        while True:
            job = pipe.recv()
            runner.load()
            pipe.send(None)
            pipe.send(runner.attempt(job, pipe.send))
    except (EOFError, OSError):
        return


def _leave_with_parent() -> None:
    """A parent that is killed cannot say goodbye; its workers notice, even in the middle of a long step."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
