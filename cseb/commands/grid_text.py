"""Text about a grid, before and after it runs."""

from __future__ import annotations

import shlex

from cseb.experiment.grid import Grid
from cseb.launchers.events import Summary
from cseb.methods.grammar import parse_method
from cseb.records.method_text import part_differences, stated
from cseb.reports.text_table import aligned
from cseb.statistics.paired import Design, exact_floor
from cseb.text import duration, percent, quantity


def listing(grid: Grid) -> str:
    """Return one line for each job, with its expected run time."""
    seconds = grid.seconds
    todo = {job.key for job in grid.todo}
    rows = [("key", "method", "fraction", "sentences", "seed", "record", "expected")]
    for job in grid.jobs:
        key = job.key
        record, expected = grid.records.get(key), seconds[key]
        cost = "unknown" if expected is None else duration(expected)
        state = (record.status if record else "none", cost if key in todo else "-")
        label = f"{job.label}, {job.tuning.options}" if job.tuning else job.label
        rows.append((key, label, percent(job.fraction), str(job.size), str(job.seed), *state))
    note = ["Whether the parts of a method go together and with the encoder is checked when the run starts."]
    return "\n".join(
        [*aligned(rows), *_replaced(grid), *outlook(grid), *(note if todo else []), *_power(grid.benchmark.seeds)]
    )


def outlook(grid: Grid) -> list[str]:
    """Return how many jobs there are and how long they are expected to take."""
    tunes = all(job.purpose == "tuning" for job in grid.jobs)
    jobs = "tuning trial" if tunes else "job"
    message = f"{quantity(len(grid.jobs), jobs)}, {len(grid.todo)} to run"
    if tunes:
        message += "; the runs with the chosen values follow"
    if not grid.todo:
        return [message]
    left = grid.left()
    if left is None:
        return [f"{message}. Run time unknown."]
    return [f"{message}. Expected run time: {duration(left)} with {quantity(grid.workers, 'worker')}."]


def _replaced(grid: Grid) -> list[str]:
    """Return the options of methods that the benchmark's `scale` and `steps` replace, each once."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    cells = {(job.label, job.fraction): job.method for job in grid.jobs if job.purpose == "reported"}
    for (label, fraction), used in cells.items():
        for part in part_differences(stated(parse_method(label).at(fraction)), stated(used)):
            found.setdefault((part.name, part.a, part.b), {})[label] = None
    rows = [(f"  {', '.join(of)}", name, f"{own} became {now}") for (name, own, now), of in found.items()]
    return ["the benchmark's scale and steps replace:", *aligned(rows)] if rows else []


def ending(grid: Grid, summary: Summary, fresh: bool) -> str:
    """Return the last line of a run."""
    broken = summary.failed + summary.refused
    if summary.stopped:
        how = "the other records are unchanged" if fresh else "repeat the command to continue"
        return f"stopped: {summary.done + broken} of {quantity(summary.total, 'job')} run; {how}"
    recorded = (
        "the only job has a record" if len(grid.jobs) == 1 else f"all {quantity(len(grid.jobs), 'job')} have records"
    )
    message = f"{quantity(summary.done, 'job')} done" if summary.total else recorded
    message += f", {broken} failed" if broken else ""
    message += f", {len(grid.failed)} failed before (--rerun failed runs them again)" if grid.failed else ""
    if summary.total and not summary.done:
        return message
    return f"{message}; next: cseb report {shlex.quote(str(grid.store.folder))}"


def _power(seeds: int) -> list[str]:
    """Return the differences that few seeds can detect."""
    if seeds >= 6:
        return []
    if (least := Design(seeds, 1.0).detectable()) is None:
        return ["One seed has no spread, so no test for new seeds is possible; use 6 seeds."]
    return [
        f"with {seeds} seeds exact tests cannot go below {exact_floor(seeds):g} (6 seeds: {exact_floor(6):.3f}); a "
        f"paired t-test finds differences from {least:.2f} sd of the differences on (80 % power)"
    ]
