"""Show the state of a grid, from its folder alone."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cseb.errors import BadResults
from cseb.parameters import argument, command
from cseb.text import aligned, duration, percent, plain, quantity

if TYPE_CHECKING:
    from cseb.experiment.grid import Planned
    from cseb.records.record import Record

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
    from cseb.launchers.claims import claims_of, reasons
    from cseb.records.store import Store

    if not (store := Store(Path(results))).exists():
        raise BadResults(f"no records in {results}: no folder {store.runs}; name a folder cseb has written")
    loaded, problems = store.load()
    records = {record.key: record for record in loaded}
    broken = {key: why for key, why in reasons(store.folder).items() if key not in records}
    valid, invalid = claims_of(store.folder)
    running = {claim.key: claim for claim in valid}
    planned = {claim.key: Planned(claim.method, claim.fraction, claim.seed) for claim in [*valid, *invalid]}
    jobs = {key: job for key, job in planned.items() if key in running} | _jobs(store.folder, records)
    states = dict.fromkeys(broken, "failed") | {key: record.status for key, record in records.items()}
    ended = {key: how for key, how in states.items() if key in jobs and key not in running}
    failed = sorted(key for key, how in ended.items() if how == "failed")
    lines = [f"{len(ended) - len(failed)} of {len(jobs)} done" + (f", {len(failed)} failed" if failed else "")]
    lines += aligned(_table(jobs, {**ended, **dict.fromkeys(running, "running")}))
    lines += ["+ running, ! failed, done / runs", *devices(records.values())]
    took = {claim.key: duration(max(0.0, time.time() - claim.started)) for claim in valid}
    lines += [f"running: {job_name(jobs[claim.key])}: {took[claim.key]}, {claim.progress}" for claim in valid]
    why = broken | {key: record.failure.reason for key, record in records.items() if record.failure}
    lines += [f"failed: {job_name(jobs[key])}: {plain(why.get(key) or 'no reason given')}" for key in failed]
    lines += [
        f"stale: {job_name(planned[claim.key])}: process {claim.pid} on {plain(claim.host)} has ended; repeat the run"
        for claim in invalid
        if claim.key not in ended
    ]
    lines += [f"unreadable: {problem}; repeat the run" for problem in problems]
    return "\n".join(lines)


def _jobs(folder: Path, records: Mapping[str, Record]) -> dict[str, Planned]:
    """Return every job of the grids in a folder by key: those planned, and those with a record."""
    from cseb.experiment.grid import Planned, read_plan

    jobs: dict[str, Planned] = {}
    for path in sorted(folder.glob("plan-*.tsv")):
        jobs |= read_plan(path)
    for key, record in records.items():
        if record.benchmark != "eval":
            jobs.setdefault(key, Planned(record.method, record.subset.fraction, record.seed))
    return jobs


def devices(records: Iterable[Record]) -> list[str]:
    """Return a line for each device: how many records it has, and the largest memory of a job."""
    by_device: dict[str, list[Record]] = {}
    for record in records:
        by_device.setdefault(plain(f"{record.protocol.device} ({record.origin.device})"), []).append(record)
    lines = []
    for device, each in sorted(by_device.items()):
        memory = f"{max(record.cost.peak_rss_mb for record in each):,.0f} MB"
        if gpu := max(record.cost.peak_gpu_mb or 0.0 for record in each):
            memory += f", GPU {gpu:,.0f} MB"
        lines.append(f"{device}: {quantity(len(each), 'record')}, at most {memory}")
    return lines


def _table(jobs: dict[str, Planned], states: dict[str, str]) -> Sequence[Sequence[str]]:
    """Return fractions by methods; a cell has `done/runs`, `+` running, `!` failed. states: by key, if known.

    Methods are the last column, so that a long one does not push the counts off the screen.
    """
    from cseb.experiment.tuning import FIRST_SEED

    fractions = sorted({job.fraction for job in jobs.values()})
    cells: dict[tuple[str, float], list[str]] = {}
    for key, job in jobs.items():
        label = job.label if job.seed < FIRST_SEED else f"{job.label}, tuning trials"
        cells.setdefault((label, job.fraction), []).append(states.get(key, ""))

    def cell(label: str, fraction: float) -> str:
        if not (runs := cells.get((label, fraction))):
            return "--"
        marks = [f"{mark}{count} " for mark, how in MARKS.items() if (count := runs.count(how))]
        return f"{''.join(marks)}{runs.count('done')}/{len(runs)}"

    labels = dict.fromkeys(label for label, _ in cells)
    rows = [[*(cell(label, fraction) for fraction in fractions), plain(label)] for label in labels]
    return [[*map(percent, fractions), "method"], *rows]
