"""Figures of tables: curves over sizes, gains, strips of seeds, one option."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from cseb.analysis.stats import Cell, Spread
from cseb.plots.style import (
    MOST_LINES,
    REFERENCE,
    Plot,
    label_lines,
    legend,
    line_style,
    method_styles,
    panels,
    sentences,
    short,
)
from cseb.reports.cell_text import ROUNDING
from cseb.reports.tables import Heading, Row, Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 5.2  # inches
BANDS: dict[Spread, str] = {
    "std": "one standard deviation",
    "ci95": "half the width of the 95 % confidence interval of the mean (Student's t)",
    "sem": "one standard error of the mean",
    "range": "minimum and maximum over seeds",
}


def curves(table: Table, baselines: Mapping[str, float] = MappingProxyType({})) -> Plot:
    """Draw scores against the number of sentences, with bands, as in figure 3 of Klein & Nabi 2023.

    Args:
        table: methods by sizes; at most six trained methods are drawn, those with the highest means.
        baselines: scores of bag-of-words baselines by name, drawn as grey lines like untrained encoders.
    """
    drawn = _columns(table, minus=False)
    trained = [row for row in table.rows if not _reference(row, drawn)]
    rows = _highest(trained, drawn)
    figure, ((axes,),) = panels(1, width=WIDTH, height=HEIGHT)
    styles, ends = method_styles([row.head.title for row in rows]), []
    for row in rows:
        points, line = _known(row, drawn), styles[row.head.title]
        xs = [x for x, _ in points]
        axes.plot(xs, [cell.mean or 0.0 for _, cell in points], label=row.head.title, **line)
        low, high = zip(*(_edges(cell, table.spread) for _, cell in points), strict=True)
        axes.fill_between(xs, low, high, color=line["color"], alpha=0.12, linewidth=0)
        ends.append((points[-1][1].mean or 0.0, row.head.title, line["color"]))
    references = {row.head.title: _known(row, drawn)[0][1].mean or 0.0 for row in table.rows if row not in trained}
    for title, height in (references | dict(baselines)).items():
        axes.axhline(height, color=REFERENCE, linewidth=1.0, linestyle=(0, (4, 3)), label=title)
        ends.append((height, title, REFERENCE))
    sentences(axes, [head.size or 0 for _, head in drawn])
    axes.set_ylabel("score")
    axes.set_title(table.title)
    label_lines(axes, ends, HEIGHT)
    return _said(figure, table, " ".join([_bands(table), *_undrawn(trained, rows)]))


def gain(table: Table, full: str) -> Plot:
    """Draw the difference from one method against the number of sentences, as in figure 4 of Klein & Nabi 2023.

    table: an ablation; its columns of differences are drawn.
    """
    drawn = _columns(table, minus=True)
    others = [row for row in table.rows if row.method != full]
    rows = _highest(others, drawn)
    figure, ((axes,),) = panels(1, width=WIDTH, height=HEIGHT)
    styles, ends = method_styles([row.head.title for row in rows]), []
    for place, row in enumerate(rows):
        points, line = _known(row, drawn), styles[row.head.title]
        aside = 1.03 ** (place - (len(rows) - 1) / 2)  # so that bars at one size do not hide each other
        means = [cell.mean or 0.0 for _, cell in points]
        edges = [_edges(cell, table.spread) for _, cell in points]
        bars = [
            [mean - low for mean, (low, _) in zip(means, edges, strict=True)],
            [high - mean for mean, (_, high) in zip(means, edges, strict=True)],
        ]
        xs = [x * aside for x, _ in points]
        axes.errorbar(xs, means, yerr=bars, label=row.head.title, capsize=2.5, elinewidth=0.9, **line)
        ends.append((means[-1], row.head.title, line["color"]))
    axes.axhline(0, color=REFERENCE, linewidth=1.0)
    ends.append((0.0, full, REFERENCE))
    sentences(axes, [head.size or 0 for _, head in drawn])
    axes.set_ylabel("difference in score")
    axes.set_title(f"Difference from {full}")
    label_lines(axes, ends, HEIGHT)
    bands = _bands(table, "Bars", " of the differences paired by seed")
    return _said(figure, table, " ".join([bands, *_undrawn(others, rows)]), title=f"Difference from {full}")


def seeds(table: Table) -> Plot:
    """One dot for each seed, one panel for each size; a bar at the mean."""
    drawn = _columns(table, minus=False)
    longest = max((len(short(row.head.title)) for row in table.rows), default=0)
    wide = min(3.4 * len(drawn) + 1, 12) + 0.12 * max(0, longest - 24)  # room for long names beside the panels
    figure, (line,) = panels(len(drawn), width=wide, height=0.6 + 0.28 * len(table.rows))
    for axes, (place, head) in zip(line, drawn, strict=True):
        for height, row in enumerate(table.rows):
            cell = row.cells[place]
            colour = line_style(height)["color"]
            axes.scatter(
                list(cell.values.values()),
                [height] * cell.n,
                color=colour,
                marker=line_style(height)["marker"],
                alpha=0.75,
                s=22,
            )
            if cell.mean is not None:
                axes.plot([cell.mean, cell.mean], [height - 0.35, height + 0.35], color="black", linewidth=1.4)
        axes.set_title(head.title)
        axes.set_xlabel("points")
        axes.grid(axis="x")
        axes.set_ylim(len(table.rows) - 0.5, -0.5)
        first = axes is line[0]
        axes.set_yticks(range(len(table.rows)), [short(row.head.title) if first else "" for row in table.rows])
    return _said(figure, table, "One mark for each seed; the bar is their mean.")


def sensitivity(table: Table, values: Mapping[str, float]) -> Plot:
    """Score against the value of one option, one curve for each size. values: method to number, or empty."""
    drawn = _columns(table, minus=False)
    figure, ((axes,),) = panels(1, width=6)
    xs = [values[row.method] for row in table.rows] if values else list(range(len(table.rows)))
    for place, (column, head) in enumerate(drawn):
        known = [
            (x, row.cells[column]) for x, row in zip(xs, table.rows, strict=True) if row.cells[column].mean is not None
        ]
        edges = [_edges(cell, table.spread) for _, cell in known]
        across = [x for x, _ in known]
        axes.plot(across, [cell.mean or 0.0 for _, cell in known], label=short(head.title), **line_style(place))
        axes.fill_between(
            across,
            [low for low, _ in edges],
            [high for _, high in edges],
            color=line_style(place)["color"],
            alpha=0.15,
            linewidth=0,
        )
    if values and min(xs) > 0 and max(xs) >= 5 * min(xs):
        axes.set_xscale("log")
        axes.minorticks_off()
    axes.set_xticks(xs, [short(row.head.title) for row in table.rows])
    axes.set_xlabel(table.stub)
    axes.set_ylabel("points")
    axes.set_title(table.title)
    legend(figure, axes, len(drawn))
    return _said(figure, table, _bands(table))


def _reference(row: Row, drawn: Sequence[tuple[int, Heading]]) -> bool:
    """Return whether nothing was trained: no data seen, and the same score at each size."""
    means = [cell.mean or 0.0 for _, cell in _known(row, drawn)]
    return bool(means) and not row.head.data_seen and max(means) - min(means) < ROUNDING


def _highest(rows: Sequence[Row], drawn: Sequence[tuple[int, Heading]]) -> list[Row]:
    """Return at most six rows: those with the highest means at the last size they have, in the order of the table."""
    scored = [row for row in rows if _known(row, drawn)]
    best = sorted(scored, key=lambda row: -(_known(row, drawn)[-1][1].mean or 0.0))[:MOST_LINES]
    return [row for row in scored if row in best]


def _undrawn(rows: Sequence[Row], drawn: Sequence[Row]) -> list[str]:
    """Return a sentence on the rows that are not drawn."""
    left = len(rows) - len(drawn)
    return [f"Drawn: the {len(drawn)} methods with the highest scores; {left} are not drawn."] if left else []


def _columns(table: Table, *, minus: bool) -> list[tuple[int, Heading]]:
    """Places and headings of the columns at the first checkpoint that is shown; without training there is no size."""
    wanted = [(place, head) for place, head in enumerate(table.columns) if bool(head.minus) == minus and head.size]
    return [(place, head) for place, head in wanted if head.select == wanted[0][1].select]


def _known(row: Row, drawn: Sequence[tuple[int, Heading]]) -> list[tuple[int, Cell]]:
    """Numbers of sentences, rising, and the cells that have a mean."""
    found = [(head.size or 0, row.cells[place]) for place, head in drawn if row.cells[place].mean is not None]
    return sorted(found, key=lambda one: one[0])


def _edges(cell: Cell, spread: Spread) -> tuple[float, float]:
    mean = cell.mean or 0.0
    if spread == "range":
        return cell.range or (mean, mean)
    half = {"std": cell.sd, "ci95": cell.ci95, "sem": cell.sem}[spread] or 0.0
    return mean - half, mean + half


def _bands(table: Table, drawn: str = "Bands", of: str = "") -> str:
    """What is drawn around a mean; nothing is where every cell has one seed."""
    sign = "" if table.spread == "range" else "± "
    return f"{drawn}: {sign}{BANDS[table.spread]}{of}." if table.spreads else "One seed, so no spread is given."


def _said(figure: Figure, table: Table, bands: str, title: str = "") -> Plot:
    return Plot(figure, " ".join([f"{title or table.title}.", bands, table.caption, *table.notes, table.signature]))
