"""JSON for programs: a list of tables with the points of every seed; null where there is no number."""

from __future__ import annotations

from cseb.reports.document import Document
from cseb.text import json_text


def write(document: Document) -> str:
    """Everything there is to know of every table."""
    return json_text([grid.nested() for grid in document.grids]) + "\n"
