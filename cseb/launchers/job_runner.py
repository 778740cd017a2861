"""Run one job; every error becomes an event."""

from __future__ import annotations

import ctypes
import os
import pkgutil
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from cseb.errors import OUT_OF_MEMORY, CsebError, device_lost, memory_ran_out
from cseb.experiment.job import Job
from cseb.launchers.events import Broken, Finished
from cseb.records.progress import Progress
from cseb.records.store import Store
from cseb.text import plain

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
