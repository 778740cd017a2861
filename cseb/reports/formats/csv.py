"""Comma-separated values for spreadsheets and scripts, in full precision; empty where there is no number."""

from __future__ import annotations

import csv
import io

from cseb.reports.document import Document
from cseb.text import csv_row


def write(document: Document) -> str:
    """One header for all tables, with the columns that any of them has."""
    names = dict.fromkeys(name for grid in document.grids for name in grid.fields)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(names), lineterminator="\n")
    writer.writeheader()
    for grid in document.grids:
        writer.writerows(map(csv_row, grid.flat()))
    return file.getvalue()
