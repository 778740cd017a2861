"""Jobs that compute a sum on the GPU and write a made-up record; the job "assert" reads outside of a tensor there."""

from collections.abc import Callable
from pathlib import Path

import torch

from cseb.experiment.job import Job
from cseb.records.progress import Progress
from cseb.records.record import Record
from cseb.records.store import Store
from tests import standin_jobs

TARGET = "tests.gpu.gpu_jobs:run_job"


def run_job(job: Job, store: Store, watch: Callable[[Progress], None], models: Path | None = None) -> Record:
    values = torch.arange(4, device=job.protocol.device)
    if job.label == "assert":
        values = values[values + 4]
    assert values.sum().item() == 6
    return standin_jobs.run_job(job, store, watch, models)
