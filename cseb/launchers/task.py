"""One job, tried: whatever goes wrong becomes an event."""

from __future__ import annotations

import pkgutil
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cseb.errors import CsebError
from cseb.launchers.events import Broken, Finished
from cseb.plan import Job, Progress
from cseb.results.store import Store

RUN_JOB = "cseb.run:run_job"


@dataclass(frozen=True, slots=True)
class Task:
    """What is the same for all jobs; travels to the workers once.

    target: "module:function" that runs one job; tests name a stand-in. models: where trained encoders are kept, if
    anywhere.
    """

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
