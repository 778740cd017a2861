"""Tables of the dev scores that chose the values of tuned options."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from cseb.analysis.tuning import Sensitivity, expected_best
from cseb.reports.document import MARKED, Column, Entry, Grid
from cseb.text import plain, quantity


def dev_score_grids(tuned: Sequence[Sensitivity]) -> list[Grid]:
    """Return two tables of methods for each tuned option, training set size and dev task, small sizes first.

    One has the tried values as columns, the other the number of values tried.
    """
    alike: dict[tuple[str, int, str, int], list[Sensitivity]] = {}
    for search in sorted(tuned, key=lambda search: search.size):
        alike.setdefault((search.option, search.size, search.tuning.dev, search.seeds), []).append(search)
    return [grid for key, searches in alike.items() for grid in (_by_value(*key, searches), _by_budget(*key, searches))]


def _by_value(option: str, size: int, dev: str, seeds: int, searches: Sequence[Sensitivity]) -> Grid:
    values = sorted({value: None for search in searches for value in search.scores}, key=_order)
    return _grid(
        "tuning",
        f"Dev score by {option}, {quantity(size, 'sentence')}",
        [plain(value) for value in values],
        {plain(search.method): [_entry(search, value) for value in values] for search in searches},
        f"Mean over {quantity(seeds, 'seed')} on {plain(dev)}. {MARKED}: chosen; --: not tried.",
    )


def _by_budget(option: str, size: int, dev: str, seeds: int, searches: Sequence[Sensitivity]) -> Grid:
    budgets = range(1, max(len(search.scores) for search in searches) + 1)
    return _grid(
        "budget",
        f"Expected best dev score by number of values tried, {quantity(size, 'sentence')}",
        [str(tried) for tried in budgets],
        {plain(search.method): [_expected(search, tried) for tried in budgets] for search in searches},
        f"If as many of the values of {option} above, drawn at random, had been tried. --: fewer, or all may collapse.",
    )


def _grid(name: str, title: str, columns: Sequence[str], rows: Mapping[str, Sequence[Entry]], note: str) -> Grid:
    """Return a table of dev scores. rows: entries by method."""
    return Grid(
        name=name,
        title=title,
        columns=(Column(title="method"), *(Column(title=column, numeric=True) for column in columns)),
        rows=tuple((Entry(text=method, code=True), *entries) for method, entries in rows.items()),
        notes=(note,),
        values=(),
    )


def _expected(search: Sensitivity, tried: int) -> Entry:
    score = expected_best(search.scores.values(), tried) if tried <= len(search.scores) else -math.inf
    return Entry(text="--" if score == -math.inf else f"{score:.2f}")


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
