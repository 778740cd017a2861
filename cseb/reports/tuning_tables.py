"""Tables of the dev scores that chose the values of tuned options."""

from __future__ import annotations

import math
from collections.abc import Sequence

from cseb.analysis.tuning import Sensitivity
from cseb.reports.document import MARKED, Column, Entry, Grid
from cseb.text import plain, quantity


def dev_score_grids(tuned: Sequence[Sensitivity]) -> list[Grid]:
    """Return a table of methods by tried values for each tuned option, training set size and dev task."""
    alike: dict[tuple[str, int, str, int], list[Sensitivity]] = {}
    for search in tuned:
        alike.setdefault((search.option, search.size, search.tuning.dev, search.seeds), []).append(search)
    return [_grid(*key, searches) for key, searches in alike.items()]


def _grid(option: str, size: int, dev: str, seeds: int, searches: Sequence[Sensitivity]) -> Grid:
    values = sorted({value: None for search in searches for value in search.scores}, key=_order)
    return Grid(
        name="tuning",
        title=f"Dev score by {option}, {quantity(size, 'sentence')}",
        columns=(Column(title="method"), *(Column(title=plain(value), numeric=True) for value in values)),
        rows=tuple(
            (Entry(text=plain(search.method), code=True), *(_entry(search, value) for value in values))
            for search in searches
        ),
        notes=(f"Mean over {quantity(seeds, 'seed')} on {plain(dev)}. {MARKED}: chosen; --: not tried.",),
        values=(),
    )


def _entry(search: Sensitivity, value: str) -> Entry:
    score = search.scores.get(value)
    text = "--" if score is None else "collapsed" if score == -math.inf else f"{score:.2f}"
    return Entry(text=text, bold=value == search.chosen)


def _order(value: str) -> tuple[float, str]:
    """Return the sort key of a value: numbers by size, before everything else."""
    try:
        return float(value), ""
    except ValueError:
        return math.inf, value
