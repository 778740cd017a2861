"""Run one job; whatever goes wrong becomes an event."""

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
    """Runs a job; holds what is the same for all jobs and is sent to each worker once.

    target: "module:function" that runs one job; tests name a stand-in. models: where trained encoders are kept, if
    anywhere. again: keys of jobs to run although they have a record. time_limit: seconds after which whoever started a
    worker shall take its job for hung and kill it; a job cannot do that itself.
    """

    target: str
    store: Store
    models: Path | None = None
    again: frozenset[str] = frozenset()
    time_limit: float | None = None

    def load(self) -> None:
        """Import what jobs need, which takes seconds once per process; errors are reported by `attempt`."""
        with suppress(Exception):
            pkgutil.resolve_name(self.target)

    def attempt(self, job: Job, watch: Callable[[Progress], None]) -> Finished | Broken:
        """Run one job, unless another launcher has done so meanwhile.

        Whatever goes wrong becomes an event, and the grid goes on; where several processes share the job, it is raised.
        """
        alone = job.protocol.processes == 1  # else one might find a record that the others do not see yet
        try:
            if alone and job.key not in self.again and (record := self.store.find(job.key)) is not None:
                return Finished(job.key, record)
            run_job = pkgutil.resolve_name(self.target)
            return Finished(job.key, run_job(job, self.store, watch, models=self.models))
        except Exception as error:
            if not alone:  # the others wait for this one, and would take its next job for the same: all have to end
                raise
            if isinstance(error, CsebError):
                return Broken(job.key, "user", str(error))
            if memory_ran_out(error):  # before training, or there was not even enough for a record
                return Broken(job.key, "memory", f"{OUT_OF_MEMORY}: {plain(str(error)) or type(error).__name__}")
            if device_lost(error):
                return Broken(job.key, "device", f"{type(error).__name__}: {error}", traceback.format_exc())
            return Broken(job.key, "bug", f"{type(error).__name__}: {error}", traceback.format_exc())
        finally:
            give_back()


def give_back() -> None:
    """Hand free memory back to the system, which glibc does not do by itself where it lies between what is in use.

    A worker that had grown by 190 MB in 108 jobs, with no more objects than after the first, fell below where it began.
    """
    with suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)


def first() -> bool:
    """Whether this is the process that writes, rank 0 of a distributed job."""
    return os.environ.get("RANK", "0") == "0"
