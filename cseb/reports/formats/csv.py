"""Comma-separated values for spreadsheets and scripts, in full precision; empty where there is no number."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from cseb.reports.document import Grid
from cseb.text import csv_row


def write(grids: Sequence[Grid]) -> str:
    """Return all tables below one header, with the columns that any of them has."""
    rows = [row for grid in grids for row in grid.values]
    file = io.StringIO()
    writer = csv.DictWriter(file, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(csv_row({name: _flat(value) for name, value in row.items()}) for row in rows)
    return file.getvalue()


def _flat(value: object) -> object:
    """Return values by seed as `0:50.1 1:50.4`."""
    if not isinstance(value, Mapping):
        return value
    return " ".join(f"{seed}:{each if isinstance(each, str) else repr(each)}" for seed, each in value.items())
