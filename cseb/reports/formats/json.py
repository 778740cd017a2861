"""JSON for programs: tables with the rows of the CSV format; null where there is no number."""

from __future__ import annotations

from collections.abc import Sequence

from cseb.reports.document import Grid
from cseb.text import json_text


def write(grids: Sequence[Grid]) -> str:
    """Return a list of tables."""
    names = ("name", "title", "caption", "notes", "signature")
    tables = [{name: getattr(grid, name) for name in names} | {"rows": list(map(dict, grid.values))} for grid in grids]
    return json_text(tables) + "\n"
