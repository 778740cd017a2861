"""The list of the jobs of a grid beside its records, from which `cseb status` reads the progress."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cseb.data.bounded import read_text
from cseb.errors import BadData

if TYPE_CHECKING:
    from cseb.experiment.job import Job

LONGEST_PLAN = 2**28  # bytes
FIELDS = ("key", "method", "fraction", "seed")


@dataclass(frozen=True, slots=True)
class Planned:
    """A job as a plan, a record or a claim names it."""

    label: str
    fraction: float
    seed: int


def plan_text(jobs: Iterable[Job], earlier: Mapping[str, Planned] | None = None) -> str:
    """Return the jobs of a grid as a table, one in a line, after those planned earlier."""
    out = io.StringIO()
    writer = csv.writer(out, dialect="excel-tab", lineterminator="\n")
    writer.writerow(FIELDS)
    rows = dict(earlier or {})
    rows |= {job.key: Planned(job.label, job.fraction, job.seed) for job in jobs}
    writer.writerows((key, job.label, job.fraction, job.seed) for key, job in rows.items())
    return out.getvalue()


def read_plan(path: Path) -> dict[str, Planned]:
    """Return the jobs in such a table by key, as far as it can be read."""
    jobs: dict[str, Planned] = {}
    with contextlib.suppress(BadData, OSError, ValueError, KeyError, TypeError, csv.Error):
        if path.is_file():
            text = read_text(path, LONGEST_PLAN)
            for row in csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"):
                job = Planned(row["method"], float(row["fraction"]), int(row["seed"]))
                if 0 <= job.fraction <= 1:
                    jobs[row["key"]] = job
    return jobs
