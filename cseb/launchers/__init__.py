"""Runs jobs anywhere. A job knows nothing of it, and a lost worker costs one job.

A job may be tried twice without harm, and its record is complete or absent: so all that a launcher has to do is to try
each job at least once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Protocol

from cseb.launchers.broken import note
from cseb.launchers.events import Event, Summary, Watch
from cseb.launchers.heartbeat import launching
from cseb.launchers.signals import Stop, on_signals, stop
from cseb.launchers.task import RUN_JOB, Task
from cseb.plan import Job
from cseb.results.store import Store


class Launcher(Protocol):
    """Where jobs run."""

    def run(self, task: Task, jobs: Sequence[Job], tell: Watch) -> None:
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
    """Try every job and tell `watch` what happens; one that gets a record meanwhile from elsewhere is done.

    Ctrl-C and SIGTERM end what runs and are told in the summary. The options are those of Task.
    """
    summary = Summary(total=len(jobs))
    heard: list[int] = []

    def answer(number: int, frame: FrameType | None) -> None:
        heard.append(number)
        stop(number, frame)

    def tell(event: Event) -> None:
        nonlocal summary
        if heard:  # what a handler raises is lost in some places, such as importlib's callbacks while torch is loaded
            raise Stop
        summary = summary.after(event)
        note(store.folder, event)
        watch(event)

    try:
        with launching(store.folder), on_signals(answer):
            launcher.run(Task(target, store, models, again, time_limit), jobs, tell)
    except KeyboardInterrupt:
        return replace(summary, stopped=True)
    return summary
