"""Few-shot curves as a drawing inside a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import escape

from cseb.analysis.stats import Cell
from cseb.reports.cell_text import number
from cseb.reports.document import Curves

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 340, 48, 8, 12, 44
INSET = 28  # between the ends of the axis and the outermost sizes
COLOURS = 8
DRAWN = 24  # curves; more of them cannot be distinguished
DASHES = ("", "7 3", "2 3", "9 3 2 3")
MARKERS = ("M-4 0a4 4 0 1 0 8 0a4 4 0 1 0-8 0", "M-4-4h8v8h-8z", "M0-5l5 9h-10z", "M0-5l5 5-5 5-5-5z", "M0 5l5-9h-10z")


@dataclass(frozen=True, slots=True)
class Figure:
    """markup: an svg element and its legend. caption: what it shows."""

    markup: str
    caption: str


def drawn(shown: Curves) -> dict[str, tuple[tuple[int, Cell], ...]]:
    """Those of its curves that are drawn."""
    return dict(list(shown.series.items())[:DRAWN])


def draw(shown: Curves) -> Figure:
    """Score against the number of sentences, one curve for each method."""
    lines_of = {title: [(log10(size), cell) for size, cell in points] for title, points in drawn(shown).items()}
    xs = sorted({x for points in lines_of.values() for x, _ in points})
    low, high, step = _axis([edge for points in lines_of.values() for _, cell in points for edge in _edges(cell)])

    def across(x: float) -> float:
        return LEFT + INSET + (x - xs[0]) / (xs[-1] - xs[0]) * (WIDTH - LEFT - RIGHT - 2 * INSET)

    def up(y: float) -> float:
        return TOP + (high - y) / (high - low) * (HEIGHT - TOP - BOTTOM)

    lines = [f'<div class="drawing"><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(shown.title)}">']
    for tick in range(round((high - low) / step) + 1):
        y = low + tick * step
        lines.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{up(y):.1f}" y2="{up(y):.1f}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{up(y) + 4:.1f}" text-anchor="end">{y:g}</text>')
    for x in xs:
        lines.append(f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{10**x:,.0f}</text>')
    base = HEIGHT - BOTTOM
    lines.append(f'<line class="axis" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{base}" y2="{base}"/>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    lines.append(f'<text x="{middle}" y="{HEIGHT - 6}" text-anchor="middle">sentences (logarithmic)</text>')
    for place, (title, points) in enumerate(lines_of.items()):
        found = [(across(x), up(cell.mean or 0.0), cell) for x, cell in points]
        lines += _series(place, title, found, [(across(x), [up(edge) for edge in _edges(cell)]) for x, cell in points])
    lines.append("</svg></div>")
    lines.append(f'<div class="legend">{"".join(_legend(place, title) for place, title in enumerate(lines_of))}</div>')
    more = len(shown.series) - len(lines_of)
    rest = f" {more} more methods are in the table only." if more else ""
    bands = "Bands: ± one standard deviation over the seeds." if shown.spread else "One seed, so no spread is given."
    return Figure("\n".join(lines), f"{shown.title}. {bands}{rest}")


def _edges(cell: Cell) -> tuple[float, float]:
    mean, half = cell.mean or 0.0, cell.sd or 0.0
    return mean - half, mean + half


def _axis(values: Sequence[float]) -> tuple[float, float, float]:
    """Lowest and highest tick and the step between: 1, 2 or 5 times a power of ten."""
    span = max(max(values) - min(values), 1e-6)
    power = 10.0 ** floor(log10(span / 4))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= span / 5)
    low, high = floor(min(values) / step) * step, ceil(max(values) / step) * step
    return low, high if high > low else low + step, step


def _series(
    place: int, title: str, points: Sequence[tuple[float, float, Cell]], band: Sequence[tuple[float, Sequence[float]]]
) -> Iterator[str]:
    colour = f"var(--c{place % COLOURS})"
    edge = [f"{x:.1f},{high:.1f}" for x, (_, high) in band] + [f"{x:.1f},{low:.1f}" for x, (low, _) in reversed(band)]
    yield f'<g class="series" data-series="{place}">'
    yield f'<polygon class="band" fill="{colour}" points="{" ".join(edge)}"/>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    yield f'<polyline class="curve" stroke="{colour}" stroke-dasharray="{_dash(place)}" points="{path}"/>'
    for x, y, cell in points:
        text = "\n".join([f"{title} ({number(cell)})", *(f"seed {seed}: {v:.2f}" for seed, v in cell.values.items())])
        keys = " ".join(f"{seed}:{key}" for seed, key in cell.keys.items())
        yield (
            f'<path class="point" tabindex="0" fill="{colour}" d="{_marker(place)}" data-keys="{escape(keys)}" '
            f'transform="translate({x:.1f} {y:.1f})" data-tip="{escape(text)}"/>'
        )
    yield "</g>"


def _legend(place: int, title: str) -> str:
    colour = f"var(--c{place % COLOURS})"
    return (
        f'<button data-of="{place}" aria-pressed="true"><svg viewBox="0 0 36 12" aria-hidden="true">'
        f'<line x1="0" x2="36" y1="6" y2="6" stroke="{colour}" stroke-width="2" stroke-dasharray="{_dash(place)}"/>'
        f'<path d="{_marker(place)}" fill="{colour}" transform="translate(18 6)"/></svg>'
        f"<code>{escape(title)}</code></button>"
    )


def _dash(place: int) -> str:
    return DASHES[(place + place // COLOURS) % len(DASHES)]


def _marker(place: int) -> str:
    return MARKERS[(place + place // COLOURS) % len(MARKERS)]
