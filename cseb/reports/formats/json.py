"""JSON for programs: tables with the rows of the CSV format; null where there is no number."""

from __future__ import annotations

from cseb.reports.document import Document
from cseb.text import json_text


def write(document: Document) -> str:
    """Return a list of tables."""
    names = ("name", "title", "caption", "notes", "signature")
    tables = [
        {name: getattr(grid, name) for name in names} | {"rows": list(map(dict, grid.values))}
        for grid in document.grids
    ]
    return json_text(tables) + "\n"
