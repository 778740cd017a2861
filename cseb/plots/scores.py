"""Figures of tables: curves over sizes, and single seeds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from cseb.analysis.stats import Cell
from cseb.plots.style import (
    MOST_LINES,
    REFERENCE,
    LineEnd,
    Plot,
    label_lines,
    method_styles,
    panels,
    sentences,
    short,
    undrawn,
)
from cseb.reports.documents import ROUNDING
from cseb.reports.tables import Heading, Row, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 5.2  # inches
DASHED: Any = {"color": REFERENCE, "linewidth": 1.0, "linestyle": (0, (4, 3))}
NO_BASELINES: Mapping[str, float] = MappingProxyType({})
Columns = Sequence[tuple[int, Heading]]  # places and headings
Points = Sequence[tuple[float, Cell]]


def curves(table: Table, baselines: Mapping[str, float] = NO_BASELINES) -> Plot:
    """Draw scores against the number of sentences, with bands, as in figure 3 of Klein & Nabi 2023.

    At most six trained methods are drawn, those with the highest means. baselines: scores of bag-of-words baselines by
    name, drawn as grey lines like untrained encoders.
    """
    columns = _columns(table)
    trained, references = _trained(table, columns, baselines)
    rows = _highest(trained, columns)
    figure, (axes,) = panels(1, width=WIDTH, height=HEIGHT)
    styles = method_styles(row.head.title for row in rows)
    ends = [_band(axes, _points(row, columns), row.head.title, styles[row.head.title]) for row in rows]
    for title, height in references.items():
        axes.axhline(height, label=title, **DASHED)
        ends.append(LineEnd(height, title, REFERENCE))
    sentences(axes, [head.size or 0 for _, head in columns])
    axes.set_ylabel("score")
    axes.set_title(table.title)
    label_lines(axes, ends, HEIGHT)
    bands = "Bands: ± one standard deviation." if table.spreads else "One seed, so no spread is given."
    return _captioned(figure, table, [bands, *undrawn(trained, rows)])


def seeds(table: Table, baselines: Mapping[str, float] = NO_BASELINES) -> Plot:
    """Draw one mark for each seed and a bar at the mean, one panel for each size, one below the other.

    Rows and baselines as in `curves`; references are vertical grey lines, labelled above the first panel.
    """
    columns = _columns(table)
    trained, references = _trained(table, columns, baselines)
    rows = _highest(trained, columns)
    styles = method_styles(row.head.title for row in rows)
    figure, every = panels(len(columns), width=WIDTH, height=1.0 + 0.3 * max(1, len(rows)))
    for axes, (place, head) in zip(every, columns, strict=True):
        for height, row in enumerate(rows):
            cell, style = row.cells[place], styles[row.head.title]
            marks = {"color": style["color"], "marker": style["marker"], "alpha": 0.75, "s": 22}
            axes.scatter(list(cell.values.values()), [height] * cell.n, **marks)
            if cell.mean is not None:
                axes.plot([cell.mean] * 2, [height - 0.35, height + 0.35], color="black", linewidth=1.4)
        for value in references.values():
            axes.axvline(value, **DASHED)
        axes.set_ylabel(head.title)
        axes.grid(axis="x")
        axes.set_ylim(max(1, len(rows)) - 0.5, -0.5)
        axes.set_yticks(range(len(rows)), [short(row.head.title) for row in rows])
        for label, row in zip(axes.get_yticklabels(), rows, strict=True):
            label.set_color(styles[row.head.title]["color"])
    low, high = (f(axes.get_xlim()[end] for axes in every) for f, end in ((min, 0), (max, 1)))
    for axes in every:
        axes.set_xlim(low, high)
    for place, (title, value) in enumerate(sorted(references.items(), key=lambda reference: reference[1])):
        every[0].annotate(
            short(title),
            (value, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 3 + 11 * (place % 2)),  # so that labels of close values do not overlap
            textcoords="offset points",
            ha="center",
            color=REFERENCE,
        )
    every[-1].set_xlabel("score")
    return _captioned(figure, table, ["One mark for each seed; the bar is their mean.", *undrawn(trained, rows)])


def _band(axes: Axes, points: Points, label: str, style: dict[str, Any]) -> LineEnd:
    """Draw the means with a band, and return the end of the line."""
    xs = [x for x, _ in points]
    means, deviations = [cell.mean or 0.0 for _, cell in points], [cell.sd or 0.0 for _, cell in points]
    axes.plot(xs, means, label=label, **style)
    low, high = np.subtract(means, deviations), np.add(means, deviations)
    axes.fill_between(xs, low, high, color=style["color"], alpha=0.12, linewidth=0)
    return LineEnd(means[-1], label, style["color"])


def _trained(table: Table, columns: Columns, baselines: Mapping[str, float]) -> tuple[list[Row], dict[str, float]]:
    """Return the rows of trained methods, and the scores of untrained ones (equal at each size) and of baselines."""
    trained, references = [], {}
    for row in table.rows:
        means = [cell.mean or 0.0 for _, cell in _points(row, columns)]
        if means and not row.head.data_seen and max(means) - min(means) < ROUNDING:
            references[row.head.title] = means[0]
        else:
            trained.append(row)
    return trained, references | dict(baselines)


def _highest(rows: Sequence[Row], columns: Columns) -> list[Row]:
    """Return at most six rows: those with the highest means at the last size they have, in the order of the table."""
    scored = [row for row in rows if _points(row, columns)]
    best = sorted(scored, key=lambda row: -(_points(row, columns)[-1][1].mean or 0.0))[:MOST_LINES]
    return [row for row in scored if row in best]


def _columns(table: Table) -> Columns:
    """Return the columns at the first checkpoint that is shown; without training there is no size."""
    wanted = [(place, head) for place, head in enumerate(table.columns) if head.size]
    return [(place, head) for place, head in wanted if head.select == wanted[0][1].select]


def _points(row: Row, columns: Columns) -> Points:
    """Return numbers of sentences, rising, and the cells that have a mean."""
    cells = [(float(head.size or 0), row.cells[place]) for place, head in columns]
    return sorted(((x, cell) for x, cell in cells if cell.mean is not None), key=lambda point: point[0])


def _captioned(figure: Figure, table: Table, sentences: Sequence[str]) -> Plot:
    text = [f"{table.title}.", *sentences, table.caption, *table.notes, table.signature]
    return Plot(figure, " ".join(text))
