"""What all figures share: colours that colour-blind readers can distinguish, lines and markers that grey print does."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zlib import crc32

from cseb.data.files import write_beside
from cseb.errors import BadResults, one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito 2008, "Color Universal Design"; yellow is left out, which is hard to see on paper.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
# Tol, "Colour schemes": more, for methods of the same folder.
MORE_COLOURS = ("#332288", "#882255", "#117733", "#999933", "#AA4499", "#661100")
LINE_HEIGHT = 13 / 72  # inches of a label
REFERENCE = "#8a8a8a"  # lines of what was not trained
MOST_LINES = 6  # a reader cannot follow more
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
MARKERS = "osD^vPX*"
FORMATS = (".png", ".svg", ".pdf")
LABEL = 48  # characters; most methods have fewer than 40
END_LABEL = 32  # behind the end of a line, where it takes room from the axes
SETTINGS: Any = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.titlesize": "medium",
    "figure.constrained_layout.use": True,
    "figure.constrained_layout.h_pad": 0.07,  # inches
    "font.size": 9,
    "grid.color": "#d8d8d8",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.markersize": 5,
    "pdf.fonttype": 42,  # TrueType, which journals ask for
    "text.parse_math": False,  # a $ in a name is a $
    "svg.hashsalt": "cseb",  # names inside the file do not change from run to run
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure and what to print below it."""

    figure: Figure
    caption: str


def check(out: Path) -> None:
    """Whether this file can be drawn at all, before any record is read. Raises: BadResults, BadSpec."""
    one_of(FORMATS, out.suffix, "the ending of `out`")
    if find_spec("matplotlib") is None:
        raise BadResults("plots need matplotlib, which is not installed; pip install 'cseb[plots]'")


def line_style(place: int) -> dict[str, Any]:
    """Colour, dashes and marker of the curve at this place; of the first 28, those of one colour share neither."""
    turn = place // len(COLOURS)
    return {
        "color": COLOURS[place % len(COLOURS)],
        "linestyle": DASHES[(place + 2 * turn) % len(DASHES)],
        "marker": MARKERS[place % len(MARKERS)],
    }


def method_styles(methods: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the line style of each method, chosen by its name, so that plots of a folder agree.

    Of two methods with the same colour, the later one takes the next free one. Versions of parts change nothing.
    """
    colours = (*COLOURS, *MORE_COLOURS)
    styles: dict[str, dict[str, Any]] = {}
    for method in methods:
        first = crc32(method.partition(" (")[0].encode())
        used = {line["color"] for line in styles.values()}
        places = [(first + step) % len(colours) for step in range(len(colours))]
        place = next((place for place in places if colours[place] not in used), places[0])
        styles[method] = line_style(place) | {"color": colours[place]}
    return styles


def label_lines(axes: Axes, ends: Sequence[tuple[float, str, str]], inches: float) -> None:
    """Write a label at the right end of each line: (height, text, colour), with room between labels.

    inches: height of the figure.
    """
    low, high = axes.get_ylim()
    gap = (high - low) * LINE_HEIGHT / inches / 0.85
    clusters: list[list[tuple[float, str, str]]] = []
    for end in sorted(ends):
        clusters.append([end])
        while len(clusters) > 1 and _middle(clusters[-1]) - _middle(clusters[-2]) < gap * (
            (len(clusters[-1]) + len(clusters[-2])) / 2
        ):
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    for cluster in clusters:
        for place, (_, text, colour) in enumerate(cluster):
            axes.annotate(
                short(text, END_LABEL),
                (1, _middle(cluster) + gap * (place - (len(cluster) - 1) / 2)),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=colour,
                annotation_clip=False,
            )


def _middle(ends: Sequence[tuple[float, str, str]]) -> float:
    return sum(height for height, _, _ in ends) / len(ends)


def panels(columns: int, rows: int = 1, *, width: float = 0.0, height: float = 2.8) -> tuple[Figure, list[list[Axes]]]:
    """A figure of so many axes, `height` inches for each row."""
    from matplotlib.figure import Figure as New

    figure = New(figsize=(width or min(3.4 * columns + 1, 12), height * rows + 0.5))
    axes = figure.subplots(rows, columns, squeeze=False)
    return figure, [list(line) for line in axes]


def short(label: str, longest: int = LABEL) -> str:
    """Return a name as a figure has room for it: at most `longest` characters."""
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def legend(figure: Figure, axes: Axes, names: int) -> None:
    """One legend for all axes, below them, where it hides nothing."""
    handles, labels = axes.get_legend_handles_labels()
    longest = max(map(len, labels), default=1)
    wide = figure.get_figwidth() * 12  # characters
    figure.legend(handles, labels, loc="outside lower center", ncols=max(1, min(names, int(wide / (longest + 8)))))


def sentences(axes: Axes, sizes: Sequence[int]) -> None:
    """A logarithmic axis of numbers of sentences, with a tick for each that was trained on and for no other."""
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("sentences")


def save(plot: Plot, out: Path) -> None:
    """The same bytes for the same figure: no date inside, but the caption. Raises: BadResults."""
    metadata = {
        ".png": {"Description": plot.caption, "Software": None},
        ".svg": {"Description": plot.caption, "Date": None, "Creator": "cseb"},
        ".pdf": {"Subject": plot.caption, "CreationDate": None, "Creator": "cseb"},
    }[out.suffix]
    try:
        drawn = io.BytesIO()
        plot.figure.savefig(drawn, format=out.suffix[1:], dpi=200, metadata=metadata)
        write_beside(out, drawn.getvalue())
    except OSError as error:
        raise BadResults(
            f"{out} cannot be written: {error.strerror or error}; make its folder, or take another"
        ) from None
