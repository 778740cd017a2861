"""Launchers run jobs on this machine or a cluster; a lost worker costs one job.

A job may be tried twice without harm, and its record is complete or absent: a launcher only has to try each job at
least once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from cseb.experiment.job import Job
from cseb.launchers.claims import note
from cseb.launchers.job_runner import RUN_JOB, Event, JobRunner, Summary, Watch
from cseb.launchers.signals import Stop, handled_signals, stop
from cseb.records.store import Store


class Launcher(Protocol):
    """The interface of a launcher."""

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job at least once and report events to `tell`; any exception ends what this call has started."""
        ...


def launch(
    jobs: Sequence[Job],
    store: Store,
    launcher: Launcher,
    watch: Watch,
    *,
    models: Path | None = None,
    again: frozenset[str] = frozenset(),
    target: str = RUN_JOB,
) -> Summary:
    """Run every job and report events to `watch`; a job whose record appears meanwhile counts as done.

    Ctrl-C and SIGTERM end running jobs; the summary says so. The options are those of JobRunner.
    """
    summary = Summary(total=len(jobs))
    received: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stop(number, frame)

    def tell(event: Event) -> None:
        nonlocal summary
        if received:  # an exception of a handler is lost in some places, such as importlib's callbacks
            raise Stop
        summary = summary.after(event)
        note(store.folder, event)
        watch(event)

    try:
        with handled_signals(on_signal):
            launcher.run(JobRunner(target, store, models, again), jobs, tell)
    except KeyboardInterrupt:
        return replace(summary, stopped=True)
    return summary
