"""The jobs of a grid as they are listed beside its records, so that its progress can be told from the folder alone."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

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
    """The jobs of a grid, one in a line, as `cseb run` leaves them beside the records, behind those planned earlier."""
    out = io.StringIO()
    writer = csv.writer(out, dialect="excel-tab", lineterminator="\n")
    writer.writerow(FIELDS)
    rows = {job.key: Planned(job.label, job.fraction, job.seed) for job in jobs}
    writer.writerows((key, one.label, one.fraction, one.seed) for key, one in {**(earlier or {}), **rows}.items())
    return out.getvalue()


def read_plan(path: Path) -> dict[str, Planned]:
    """What `plan_text` has written, as far as it can be read: nothing of a file from another program."""
    found: dict[str, Planned] = {}
    from cseb.data.bounded import read_text

    with contextlib.suppress(BadData, OSError, ValueError, KeyError, TypeError, csv.Error):
        if path.is_file():
            text = read_text(path, LONGEST_PLAN)
            for row in csv.DictReader(io.StringIO(text, newline=""), dialect="excel-tab"):
                one = Planned(row["method"], float(row["fraction"]), int(row["seed"]))
                if 0 <= one.fraction <= 1:
                    found[row["key"]] = one
    return found
