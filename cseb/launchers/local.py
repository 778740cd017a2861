"""Launcher for this machine: jobs in this process or in worker processes.

The parent holds the queue and hands each worker one job at a time over a pipe of its own: no lock is shared, so a
worker that is killed can take nothing with it but its job. Torch is loaded in the workers only.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from cseb.errors import OUT_OF_MEMORY
from cseb.experiment.job import Job
from cseb.launchers.claims import Claims
from cseb.launchers.job_runner import Broken, Event, Finished, JobRunner, Started, Watch, first
from cseb.launchers.signals import Stop, deferred_signals, signal_name
from cseb.processor import ALONE
from cseb.records.progress import Progress

VISIBLE = "CUDA_VISIBLE_DEVICES"  # read by CUDA, and by ROCm's PyTorch, when they are first used


def gpus() -> tuple[str, ...]:
    """Return the GPUs this process may use, as CUDA_VISIBLE_DEVICES names them: numbers, or GPU-... and MIG-..."""
    if VISIBLE in os.environ:
        return tuple(name.strip() for name in os.environ[VISIBLE].split(",") if name.strip())
    import torch  # loaded already where jobs compute on a GPU

    return tuple(map(str, range(torch.cuda.device_count())))


def least_used(names: Sequence[str], used: Iterable[str]) -> str:
    """Return the GPU for one more worker; "" if there are no GPUs."""
    used = list(used)
    return min(names, key=used.count, default="")


THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS")
JOBS_PER_WORKER = 100  # before a worker is replaced, which frees memory that libraries never release
PATIENCE = 3.0  # seconds a worker is given to end before it is killed
WAIT = 2.0  # seconds between two attempts to claim a job that another launcher runs
# glibc raises these thresholds by itself until freed tensors are never returned to the system: a worker grew by a sixth
# in thirty jobs. Huge pages, where Linux grants them, avoid nine tenths of the page faults.
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": str(4 << 20),
    "MALLOC_TRIM_THRESHOLD_": str(16 << 20),
    "THP_MEM_ALLOC_ENABLE": "1",  # PyTorch's own
}


@dataclass(frozen=True, slots=True)
class Local:
    """Run `workers` jobs at a time; one job on a CPU at a time runs in this process."""

    workers: int = 1

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job once."""
        with Claims(runner.store.folder) as claims:

            def on_event(event: Event) -> None:
                claims.update(event)
                tell(event)

            # A CUDA error can make a process unusable, so GPU jobs run in worker processes, which can be replaced.
            if self.workers == 1 and all(job.protocol.device == "cpu" or job.protocol.processes > 1 for job in jobs):
                with ALONE:
                    _in_this_process(runner, deque(jobs), on_event, claims)
            else:
                names = gpus() if any(job.protocol.device == "cuda" for job in jobs) else ()
                _Pool(runner, on_event, deque(jobs), self.workers, claims, names).run()


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
    """A worker process with the parent's end of its pipe and its current job.

    gpu: the GPU it uses; "" for all or none. jobs: number of jobs it has been given.
    """

    process: BaseProcess
    pipe: Connection
    gpu: str
    job: Job
    jobs: int = 0

    def send(self, job: Job) -> bool:
        """Give the worker a job; return False if its process has ended."""
        self.job, self.jobs = job, self.jobs + 1
        try:
            self.pipe.send(job)
        except OSError:
            return False
        return True


@dataclass(slots=True)
class _Pool:
    """The queue of jobs and the busy workers."""

    runner: JobRunner
    tell: Watch
    waiting: deque[Job]
    workers: int
    claims: Claims
    gpus: Sequence[str] = ()
    busy: dict[Connection, _Worker] = field(default_factory=dict)

    def run(self) -> None:
        """Run until every job has been tried; any exception ends the workers too."""
        try:
            while self.waiting or self.busy:
                while len(self.busy) < self.workers and self._start():
                    pass
                if not self.busy:
                    time.sleep(WAIT)
                full = not self.waiting or len(self.busy) == self.workers  # else a job of another launcher may end
                for pipe in wait(list(self.busy), None if full else WAIT) if self.busy else ():
                    assert isinstance(pipe, Connection)
                    self._receive(self.busy[pipe])
        finally:
            with deferred_signals():  # a second Ctrl-C must not keep the workers from being ended
                for worker in self.busy.values():
                    worker.process.terminate()
                for worker in self.busy.values():
                    _end(worker)

    def _start(self) -> bool:
        """Start a worker for the next job; return False if there is none that this launcher can claim.

        Each start uses up a job, so that workers which cannot start end the grid.
        """
        if (job := self.claims.next_job(self.waiting)) is None:
            return False
        worker = _started(self.runner, job, least_used(self.gpus, [busy.gpu for busy in self.busy.values()]))
        self.busy[worker.pipe] = worker
        worker.send(job)
        self.tell(Started(job.key))
        return True

    def _receive(self, worker: _Worker) -> None:
        event = _next(worker)
        self.tell(event)
        if isinstance(event, Progress):
            return
        if (
            worker.jobs < JOBS_PER_WORKER
            and not _unusable(event)
            and (job := self.claims.next_job(self.waiting)) is not None
        ):
            if worker.send(job):
                self.tell(Started(job.key))
                return
            self.claims.release(job.key)
            self.waiting.appendleft(job)
        del self.busy[worker.pipe]
        _end(worker)


def _started(runner: JobRunner, job: Job, gpu: str) -> _Worker:
    """Start a worker. Ctrl-C reaches the whole group of processes; only the parent handles it."""
    context = multiprocessing.get_context("spawn")
    pipe, worker_pipe = context.Pipe()
    for name, value in MALLOC.items():
        os.environ.setdefault(name, value)  # read when a process starts
    resource_tracker.ensure_running()  # it unblocks SIGINT when it starts, so it starts first
    process = context.Process(target=_work, args=(worker_pipe, runner, job.protocol.threads, gpu), daemon=True)
    with deferred_signals() as received:
        process.start()
    if received:
        process.terminate()
        raise Stop
    worker_pipe.close()
    return _Worker(process, pipe, gpu, job)


def _next(worker: _Worker) -> Progress | Finished | Broken:
    """Return the next event of a worker; Broken if its process has ended."""
    try:
        event = worker.pipe.recv()
        assert isinstance(event, Progress | Finished | Broken)
        return event
    except (EOFError, OSError):
        worker.process.join(PATIENCE)
        code = worker.process.exitcode
        if code is None or code >= 0:
            return Broken(worker.job.key, "died", f"the worker ended with exit code {code}")
        cause = f"the worker was killed by {signal_name(-code)}"
        hint = "; out of memory? try fewer --workers" if -code == signal.SIGKILL else ""
        return Broken(worker.job.key, "died", cause + hint)


def _unusable(event: Finished | Broken) -> bool:
    """Return whether a worker must be replaced: its memory was exhausted, or its GPU fails every job after this one."""
    if isinstance(event, Broken):
        return event.kind in ("memory", "device")
    return event.record.failure is not None and event.record.failure.reason.startswith(OUT_OF_MEMORY)


def _end(worker: _Worker) -> None:
    """End a worker: its closed pipe tells it to exit, and it is killed if it does not."""
    worker.pipe.close()
    worker.process.join(PATIENCE)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.process.close()


def _work(pipe: Connection, runner: JobRunner, threads: int, gpu: str) -> None:
    """Run jobs from the pipe in a worker process and send their events, until the pipe is closed."""
    for name in THREADS:
        os.environ[name] = str(threads)  # read when torch and tokenizers are imported, which is later
    if gpu:
        os.environ[VISIBLE] = gpu
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    try:
        while True:
            job = pipe.recv()
            pipe.send(runner.attempt(job, pipe.send))
    except (EOFError, OSError):
        return


def _exit_with_parent() -> None:
    """Exit when the parent has ended, even in the middle of a long step."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
