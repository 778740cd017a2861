"""Launchers run jobs on this machine or a cluster; a job does not know where it runs, and a lost worker costs one job.

A job may be tried twice without harm, and its record is complete or absent: so all that a launcher has to do is to try
each job at least once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from cseb.experiment.job import Job
from cseb.launchers.error_files import note
from cseb.launchers.events import Event, Summary, Watch
from cseb.launchers.job_runner import RUN_JOB, JobRunner
from cseb.launchers.signals import Stop, handled_signals, stop
from cseb.records.store import Store


class Launcher(Protocol):
    """The interface of a launcher."""

    def run(self, runner: JobRunner, jobs: Sequence[Job], tell: Watch) -> None:
        """Try each job at least once and tell what happens; whatever ends this call ends what it has started."""
        ...


def launch(
    jobs: Sequence[Job],
    store: Store,
    launcher: Launcher,
    watch: Watch,
    *,
    models: Path | None = None,
    again: frozenset[str] = frozenset(),
    time_limit: float | None = None,
    target: str = RUN_JOB,
) -> Summary:
    """Run every job and report events to `watch`; a job whose record appears meanwhile counts as done.

    Ctrl-C and SIGTERM end what runs and are told in the summary. The options are those of JobRunner.
    """
    summary = Summary(total=len(jobs))
    received: list[int] = []

    def answer(number: int, frame: FrameType | None) -> None:
        received.append(number)
        stop(number, frame)

    def tell(event: Event) -> None:
        nonlocal summary
        if (
            received
        ):  # what a handler raises is lost in some places, such as importlib's callbacks while torch is loaded
            raise Stop
        summary = summary.after(event)
        note(store.folder, event)
        watch(event)

    try:
        with handled_signals(answer):
            launcher.run(JobRunner(target, store, models, again, time_limit), jobs, tell)
    except KeyboardInterrupt:
        return replace(summary, stopped=True)
    return summary
