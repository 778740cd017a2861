"""Run one job; every error becomes an event. The events of a running grid, and the summary at its end."""

from __future__ import annotations

import ctypes
import os
import pkgutil
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from cseb.errors import OUT_OF_MEMORY, CsebError, device_lost, memory_ran_out
from cseb.experiment.job import Job
from cseb.records.progress import Progress
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.text import plain


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
    """A job left no record.

    kind: a user error, a bug in cseb (detail: its traceback), exhausted memory, a CUDA error after which the process
    can use its GPU no more, or the end of its worker process.
    """

    key: str
    kind: Literal["user", "bug", "memory", "device", "died"]
    reason: str
    detail: str = ""


Event = Started | Progress | Finished | Broken
Watch = Callable[[Event], None]


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of jobs by outcome."""

    total: int
    done: int = 0
    failed: int = 0
    refused: int = 0  # by a user error
    stopped: bool = False  # by Ctrl-C or SIGTERM

    def after(self, event: Event) -> Summary:
        """Return the summary with one more event counted."""
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
        """130 stopped, 2 a user error, 1 any other failure, 0 all done."""
        return 130 if self.stopped else 2 if self.refused else 1 if self.failed else 0


RUN_JOB = "cseb.experiment.run_job:run_job"


@dataclass(frozen=True, slots=True)
class JobRunner:
    """Run single jobs; sent to each worker once.

    target: "module:function" that runs one job; tests name a stand-in. models: the folder of trained encoders, if they
    are kept. again: keys of jobs to run although they have a record.
    """

    target: str
    store: Store
    models: Path | None = None
    again: frozenset[str] = frozenset()

    def attempt(self, job: Job, watch: Callable[[Progress], None]) -> Finished | Broken:
        """Run one job, unless another launcher has done so meanwhile.

        An error becomes an event, and the grid goes on; if several processes share the job, it is raised.
        """
        single = job.protocol.processes == 1  # several processes might not see a new record at the same time
        try:
            if single and job.key not in self.again and (record := self.store.find(job.key)) is not None:
                return Finished(job.key, record)
            run_job = pkgutil.resolve_name(self.target)
            return Finished(job.key, run_job(job, self.store, watch, models=self.models))
        except Exception as error:
            if not single:  # the other processes wait for this one: all have to end
                raise
            if isinstance(error, CsebError):
                return Broken(job.key, "user", str(error))
            if memory_ran_out(error):  # before training, or there was not even enough for a record
                return Broken(job.key, "memory", f"{OUT_OF_MEMORY}: {plain(str(error)) or type(error).__name__}")
            if device_lost(error):
                return Broken(job.key, "device", f"{type(error).__name__}: {error}", traceback.format_exc())
            return Broken(job.key, "bug", f"{type(error).__name__}: {error}", traceback.format_exc())
        finally:
            release_memory(job.protocol.device)


def release_memory(device: str) -> None:
    """Return free memory to the system, and that of the GPU to the other jobs on it.

    Neither glibc nor PyTorch does so by itself.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    if device == "cpu":
        return
    import torch

    with suppress(RuntimeError):  # of a GPU that this process has lost
        torch.cuda.empty_cache()


def first() -> bool:
    """Return whether this is the process that writes: rank 0 of a distributed job."""
    return os.environ.get("RANK", "0") == "0"
