"""Handing out jobs where several launchers share a folder: each says that it is there, and claims what it takes."""

from __future__ import annotations

import contextlib
import os
import socket
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cseb.experiment.job import Job
from cseb.launchers.heartbeat import LAUNCHER, content, file_of, folder_of, kept, temporary
from cseb.launchers.process_identity import began, machine
from cseb.launchers.pulses import Pulses, listed, tidy
from cseb.records.progress import Progress


@contextmanager
def launching(results: Path) -> Iterator[None]:
    """Keep a launcher's heartbeat while it hands out jobs: it shows that waiting jobs will be run."""
    tidy(results)
    about = f"{socket.gethostname()} {os.getpid()} {machine() or '-'} {began(os.getpid())}\n".encode()
    with kept(folder_of(results) / f"{uuid.uuid4().hex}{LAUNCHER}", lambda: about):
        yield


def next_job(results: Path, waiting: deque[Job], *, claim: bool = True) -> Job:
    """Take the first job that no live process is running, as far as the files tell without waiting; else the first.

    So several launchers on one folder share its jobs, and only at the very end two of them may run the same one.
    claim: leave its first beat at once, for whoever looks before it has begun; not for one that may wait for longer
    than a beat stays fresh.
    """
    keys = {path.stem for path in listed(folder_of(results))}
    running: set[str] = set()
    if any(job.key in keys for job in waiting):
        running = {seen.beat.key for seen in Pulses(results).look()[0]}
    for job in waiting:
        if job.key not in running and not (claim and job.key not in keys and _taken(results, job)):
            waiting.remove(job)
            return job
    return waiting.popleft()


def _taken(results: Path, job: Job) -> bool:
    """Whether another launcher has claimed the job since we looked; if not, it is ours: only one can make a file."""
    path = file_of(results, job)
    staged = temporary(path)
    try:
        path.parent.mkdir(exist_ok=True)
        staged.write_bytes(content(job, Progress(job.key, 0, 0, None, None), 0.0))
        os.link(staged, path)
    except FileExistsError:
        return True
    except OSError:  # a disk that is full or read-only, or has no links: then jobs may be run twice
        return False
    finally:
        with contextlib.suppress(OSError):
            staged.unlink(missing_ok=True)
    return False
