"""A planned grid of methods, training set sizes and seeds, and how it runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.commands.export_scores import tracked
from cseb.progress import unheard

if TYPE_CHECKING:
    from cseb.experiment.grid import Grid
    from cseb.experiment.job import Job
    from cseb.launchers import Launcher
    from cseb.launchers.events import Summary, Watch


@dataclass(frozen=True, slots=True)
class PlannedGrid:
    """A grid ready to run.

    following: plans the runs that follow these tuning trials; None if there are none.
    """

    grid: Grid  # the jobs
    launcher: Launcher  # runs them
    models: Path | None = None  # folder of trained encoders, if they are saved
    remote: bool = False  # whether jobs run on other machines
    track_to: str = ""  # the experiment tracker that each finished job is sent to, if any
    following: Callable[[], PlannedGrid] | None = None

    def run(self, watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None) -> Summary:
        """Run the jobs that have no record yet. watching: returns the display of every event. Raises: CsebError."""
        from cseb.launchers import launch
        from cseb.launchers.job_runner import first

        grid = self.grid
        grid.prepare(self.models)
        with unheard(), watching(grid) if watching else nullcontext(lambda _: None) as watch:
            if self.track_to and first():
                watch = tracked(watch, self.track_to, grid.store.folder)  # noqa: PLW2901
            again = frozenset(grid.records) & {job.key for job in grid.todo}
            return launch(
                grid.in_order() if self.remote else _one_library(grid.in_order()),
                grid.store,
                self.launcher,
                watch,
                models=self.models,
                again=again,
            )


def run_stages(
    planned: PlannedGrid, watching: Callable[[Grid], AbstractContextManager[Watch]] | None = None
) -> tuple[PlannedGrid, Summary]:
    """Run a grid, of a benchmark that tunes the trials first. Return the last grid and its summary.

    It ends early if it is stopped or a trial leaves no record. watching: see `PlannedGrid.run`. Raises: CsebError.
    """
    summary = planned.run(watching)
    while planned.following is not None and not summary.stopped:
        protocol = planned.grid.jobs[0].protocol
        if protocol.processes > 1:
            from cseb.encoder.distributed import agreed

            agreed([], protocol.device, protocol.threads)  # waits until the first process has written its records
        following = planned.following()
        if {job.key for job in following.grid.jobs} == {job.key for job in planned.grid.jobs}:
            break
        planned = following
        summary = planned.run(watching)
    return planned, summary


def _one_library(jobs: Sequence[Job]) -> Sequence[Job]:
    """Resolve the library of linear layers once, so that no job chooses another."""
    if not jobs:
        return jobs
    from cseb.encoder.distributed import agreed
    from cseb.encoder.linear_choice import resolved

    protocol = jobs[0].protocol
    linear: str = resolved(jobs[0].linear, protocol.threads, protocol.device)
    if protocol.processes > 1:
        (linear,) = agreed([linear], protocol.device, protocol.threads)
    return [replace(job, linear=linear) for job in jobs]
