"""Runs jobs, here or in worker processes. A job knows nothing of it; a lost worker costs one job.

The parent holds the queue and hands each worker one job at a time over a pipe of its own: no lock is shared, so a
worker that is killed can take nothing with it but its job. Torch is loaded in the workers only.
"""

from __future__ import annotations

import multiprocessing
import os
import pkgutil
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Literal

from cseb.errors import CsebError
from cseb.plan import Job, Progress
from cseb.results.record import Record
from cseb.results.store import Store

TARGET = "cseb.run:run_job"
STOPS = (signal.SIGINT, signal.SIGTERM)
PATIENCE = 3.0  # seconds a worker is given to end before it is killed
# glibc raises these by itself until freed tensors are never given back: a worker grew by a sixth in thirty jobs
MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(4 << 20), "MALLOC_TRIM_THRESHOLD_": str(16 << 20)}


@dataclass(frozen=True, slots=True)
class Started:
    """A job was handed to a worker."""

    key: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A job has a record; its status may still be `failed`, such as after a loss that is no number."""

    key: str
    record: Record


@dataclass(frozen=True, slots=True)
class Broken:
    """A job left no record: a mistake the user can mend, a bug of ours (detail: its traceback), or a dead worker."""

    key: str
    kind: Literal["user", "bug", "died"]
    reason: str
    detail: str = ""


Event = Started | Progress | Finished | Broken
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Summary:
    """What became of the jobs."""

    total: int
    done: int = 0
    failed: int = 0
    refused: int = 0  # by a mistake the user can mend
    stopped: bool = False  # by Ctrl-C or SIGTERM

    def after(self, event: Event) -> Summary:
        """The summary with one more event counted."""
        match event:
            case Finished(record=record) if record.status == "done":
                return replace(self, done=self.done + 1)
            case Broken(kind="user"):
                return replace(self, refused=self.refused + 1)
            case Finished() | Broken():
                return replace(self, failed=self.failed + 1)
        return self

    @property
    def exit_code(self) -> int:
        """130 stopped, 2 a mistake of the user's, 1 any other failure, 0 all done."""
        return 130 if self.stopped else 2 if self.refused else 1 if self.failed else 0


def launch(
    jobs: Sequence[Job],
    store: Store,
    workers: int,
    watch: Watch,
    *,
    models: Path | None = None,
    target: str = TARGET,
) -> Summary:
    """Try every job once and tell `watch` what happens; one worker means this very process.

    Ctrl-C and SIGTERM end the workers and are told in the summary. models: where trained encoders are saved, if at all.
    target: "module:function" that runs one job; tests name a stand-in.
    """
    summary = Summary(total=len(jobs))
    task = _Task(target, store, models)
    events = _here(task, jobs, watch) if workers == 1 else _elsewhere(task, jobs, min(workers, len(jobs)))
    try:
        with _on_signals(_stop):
            for event in events:
                summary = summary.after(event)
                watch(event)
    except KeyboardInterrupt:
        return replace(summary, stopped=True)
    finally:
        events.close()
    return summary


@dataclass(frozen=True, slots=True)
class _Task:
    """What is the same for all jobs; travels to the workers once."""

    target: str
    store: Store
    models: Path | None

    def attempt(self, job: Job, watch: Callable[[Progress], None]) -> Finished | Broken:
        """Run one job; whatever goes wrong becomes an event, and the grid goes on."""
        try:
            run_job = pkgutil.resolve_name(self.target)
            return Finished(job.key, run_job(job, self.store, watch, models=self.models))
        except CsebError as error:
            return Broken(job.key, "user", str(error))
        except Exception as error:
            if job.protocol.processes > 1:  # the others wait for this one: all of them have to end
                raise
            return Broken(job.key, "bug", f"{type(error).__name__}: {error}", traceback.format_exc())


def _here(task: _Task, jobs: Sequence[Job], watch: Watch) -> Generator[Event, None, None]:
    for job in jobs:
        yield Started(job.key)
        yield task.attempt(job, watch)


@dataclass(slots=True)
class _Worker:
    """A process, our end of its pipe, and the job it holds."""

    process: BaseProcess
    pipe: Connection
    job: Job


def _elsewhere(task: _Task, jobs: Sequence[Job], workers: int) -> Generator[Event, None, None]:
    waiting = deque(jobs)
    busy: dict[Connection, _Worker] = {}
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                worker = _start(task, waiting.popleft())
                busy[worker.pipe] = worker
                yield Started(worker.job.key)
            for pipe in wait(list(busy)):
                assert isinstance(pipe, Connection)  # nothing else was waited for
                worker = busy[pipe]
                event = _next(worker)
                yield event
                if isinstance(event, Progress):
                    continue
                if waiting and _hand_over(worker, waiting[0]):
                    waiting.popleft()
                    yield Started(worker.job.key)
                else:
                    del busy[pipe]
                    _end(worker)
    finally:
        with _signals_wait():  # a second Ctrl-C must not keep the workers from being ended
            for worker in busy.values():
                worker.process.terminate()
            for worker in busy.values():
                _end(worker)


def _start(task: _Task, job: Job) -> _Worker:
    """A new process with its first job: each start uses up a job, so workers that cannot live do not go on forever.

    Ctrl-C reaches the whole group of processes; only the parent answers it.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    for name, value in MALLOC.items():
        os.environ.setdefault(name, value)  # read when a process starts
    resource_tracker.ensure_running()  # when it starts, it unblocks SIGINT: so it starts first
    process = context.Process(target=_work, args=(theirs, task, job.protocol.threads), daemon=True)
    with _signals_wait() as heard:
        process.start()
    if heard:
        process.terminate()
        raise Stop
    theirs.close()
    worker = _Worker(process, ours, job)
    _hand_over(worker, job)
    return worker


def _hand_over(worker: _Worker, job: Job) -> bool:
    """Give a job to a worker that is free; False when it is gone."""
    worker.job = job
    try:
        worker.pipe.send(job)
    except OSError:
        return False
    return True


def _next(worker: _Worker) -> Progress | Finished | Broken:
    """What the worker says, or that it is dead."""
    try:
        event = worker.pipe.recv()
        assert isinstance(event, Progress | Finished | Broken)
        return event
    except (EOFError, OSError):
        worker.process.join(PATIENCE)
        code = worker.process.exitcode
        if code is None or code >= 0:
            return Broken(worker.job.key, "died", f"the worker ended with exit code {code}")
        cause = f"the worker was killed by {signal.Signals(-code).name}"
        hint = "; out of memory? try fewer --workers" if -code == signal.SIGKILL else ""
        return Broken(worker.job.key, "died", cause + hint)


def _end(worker: _Worker) -> None:
    """No process is left behind: a closed pipe tells a worker to leave, and one that does not is killed."""
    worker.pipe.close()
    worker.process.join(PATIENCE)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    worker.process.close()


def _work(pipe: Connection, task: _Task, threads: int) -> None:
    """A worker's life: jobs in, events out, until the pipe is closed."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "RAYON_NUM_THREADS"):
        os.environ[name] = str(threads)  # read when torch and tokenizers are loaded, which is not yet
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    try:
        while True:
            job = pipe.recv()
            pipe.send(task.attempt(job, pipe.send))
    except (EOFError, OSError):
        return


def _leave_with_parent() -> None:
    """A parent that is killed cannot say goodbye; its workers notice, even in the middle of a long step."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class Stop(KeyboardInterrupt):
    """Ctrl-C or SIGTERM.

    A kind of its own, because a plain KeyboardInterrupt that has crossed an `exec` of text, as libraries do while they
    load, makes Python end by a signal even where it was caught, and the exit code is lost.
    """


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise Stop


@contextmanager
def _on_signals(answer: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Ctrl-C and SIGTERM, which schedulers send, get this answer; what the shell has us ignore stays ignored."""
    before = {number: signal.getsignal(number) for number in STOPS}
    ours = threading.current_thread() is threading.main_thread()  # no other thread may set a handler
    heeded = {number: handler for number, handler in before.items() if ours and handler is not signal.SIG_IGN}
    for number in heeded:
        signal.signal(number, answer)
    try:
        yield
    finally:
        for number, handler in heeded.items():
            signal.signal(number, handler)


@contextmanager
def _signals_wait() -> Iterator[list[int]]:
    """Ctrl-C and SIGTERM are written down and interrupt nothing; a process that starts meanwhile never sees SIGINT.

    Blocking them is not enough: another thread, such as one of numpy's, takes what this one has blocked.
    """
    heard: list[int] = []
    with _on_signals(lambda number, _: heard.append(number)):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # what a new process inherits
        try:
            yield heard
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
