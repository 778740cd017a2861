"""Show the state of a grid, from its folder alone."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.errors import BadResults
from cseb.parameters import argument, command
from cseb.text import duration, percent, plain

if TYPE_CHECKING:
    from cseb.experiment.grid import Planned

MARKS = {"+": "running", "!": "failed"}


@command
def status(results: Annotated[str | Path, argument("Folder of records.")] = "results") -> str:
    """Show which jobs are done, running, failed, or stale (their process was killed).

    Returns:
        Text of several lines.

    Raises:
        BadResults: if there is no such folder of records.
    """
    from cseb.commands.progress import job_name
    from cseb.experiment.grid import Planned
    from cseb.launchers.claims import claims_of
    from cseb.launchers.job_states import JobStates
    from cseb.records.store import Store
    from cseb.text import aligned

    if not (store := Store(Path(results))).exists():
        raise BadResults(f"no records in {results}: no folder {store.runs}; name a folder cseb has written")
    states = JobStates.of(store)
    valid, invalid = claims_of(store.folder)
    running = {claim.key: claim for claim in valid}
    planned = {claim.key: Planned(claim.method, claim.fraction, claim.seed) for claim in [*valid, *invalid]}
    jobs = {key: job for key, job in planned.items() if key in running} | states.planned()
    ended = {key: how for key, how in states.ended().items() if key in jobs and key not in running}
    failed = sorted(key for key, how in ended.items() if how == "failed")
    lines = [f"{len(ended) - len(failed)} of {len(jobs)} done" + (f", {len(failed)} failed" if failed else "")]
    lines += aligned(_table(jobs, {**ended, **dict.fromkeys(running, "running")}))
    lines += ["+ running, ! failed, done / seeds", *states.devices()]
    took = {claim.key: duration(max(0.0, time.time() - claim.started)) for claim in valid}
    lines += [f"running: {job_name(jobs[claim.key])}: {took[claim.key]}, {claim.progress}" for claim in valid]
    lines += [f"failed: {job_name(jobs[key])}: {plain(states.reason(key))}" for key in failed]
    lines += [
        f"stale: {job_name(planned[claim.key])}: process {claim.pid} on {plain(claim.host)} has ended; repeat the run"
        for claim in invalid
        if claim.key not in ended
    ]
    return "\n".join(lines)


def _table(jobs: dict[str, Planned], states: dict[str, str]) -> Sequence[Sequence[str]]:
    """Return methods by fractions; a cell has `done/seeds`, `+` running, `!` failed. states: by key, if known."""
    fractions = sorted({job.fraction for job in jobs.values()})
    cells: dict[tuple[str, float], list[str]] = {}
    for key, job in jobs.items():
        cells.setdefault((job.label, job.fraction), []).append(states.get(key, ""))

    def cell(label: str, fraction: float) -> str:
        seeds = cells.get((label, fraction), [])
        marks = [f"{mark}{count} " for mark, how in MARKS.items() if (count := seeds.count(how))]
        return f"{''.join(marks)}{seeds.count('done')}/{len(seeds)}"

    labels = dict.fromkeys(label for label, _ in cells)
    rows = [[plain(label), *(cell(label, fraction) for fraction in fractions)] for label in labels]
    return [["method", *map(percent, fractions)], *rows]
