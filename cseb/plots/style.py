"""Colours, lines, labels and files of all figures: readable for colour-blind readers and in grey print."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

from cseb.data.files import write_beside
from cseb.errors import BadResults, one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe & Ito 2008, "Color Universal Design", without yellow, which is hard to see on paper; then Tol, "Colour schemes".
COLOURS = (
    *("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"),
    *("#332288", "#882255", "#117733", "#999933", "#AA4499", "#661100"),
)
REFERENCE = "#8a8a8a"  # untrained encoders and TF-IDF
MOST_LINES = 6  # a reader cannot follow more
DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (6, 2, 1, 2)))
MARKERS = "osD^vPX*"
FORMATS = (".png", ".svg", ".pdf")
LABEL = 32  # characters; a longer name is cut
LINE_HEIGHT = 13 / 72  # inches of a label
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
    "lines.markersize": 5,
    "pdf.fonttype": 42,  # TrueType, which journals ask for
    "text.parse_math": False,  # a $ in a name is a $
}


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure and its caption."""

    figure: Figure
    caption: str


class LineEnd(NamedTuple):
    """The label at the right end of a line: its height in data units, text and colour."""

    height: float
    text: str
    colour: str


def check(out: Path) -> None:
    """Check, before any record is read, that the file can be drawn. Raises: BadResults, BadSpec."""
    one_of(FORMATS, out.suffix, "the ending of `out`")
    if find_spec("matplotlib") is None:
        raise BadResults("plots need matplotlib, which is not installed; pip install 'cseb[plots]'")


def method_styles(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Return colour, dashes and marker of each method, chosen by its name, so that all plots of a folder agree.

    Of two methods with the same colour, the later one takes the next free one. Versions of parts change nothing.
    """
    styles: dict[str, dict[str, Any]] = {}
    for method in methods:
        first = crc32(method.partition(" (")[0].encode())
        used = {style["color"] for style in styles.values()}
        places = [(first + step) % len(COLOURS) for step in range(len(COLOURS))]
        place = next((place for place in places if COLOURS[place] not in used), places[0])
        dashes, marker = DASHES[place % len(DASHES)], MARKERS[place % len(MARKERS)]
        styles[method] = {"color": COLOURS[place], "linestyle": dashes, "marker": marker}
    return styles


def label_lines(axes: Axes, ends: Iterable[LineEnd], inches: float) -> None:
    """Write a label at the right end of each line, with room between labels. inches: height of the axes."""
    low, high = axes.get_ylim()
    gap = (high - low) * LINE_HEIGHT / inches / 0.85
    clusters: list[list[LineEnd]] = []
    for end in sorted(ends):
        clusters.append([end])
        while len(clusters) > 1 and _middle(clusters[-1]) - _middle(clusters[-2]) < gap * (
            (len(clusters[-1]) + len(clusters[-2])) / 2
        ):
            clusters[-2:] = [clusters[-2] + clusters[-1]]
    for cluster in clusters:
        for place, end in enumerate(cluster):
            axes.annotate(
                short(end.text),
                (1, _middle(cluster) + gap * (place - (len(cluster) - 1) / 2)),
                xycoords=("axes fraction", "data"),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=end.colour,
                annotation_clip=False,
            )


def _middle(ends: Sequence[LineEnd]) -> float:
    return sum(end.height for end in ends) / len(ends)


def panels(rows: int, *, width: float, height: float) -> tuple[Figure, list[Axes]]:
    """Return a figure of so many axes, one below the other, with `height` inches for each."""
    from matplotlib.figure import Figure as New

    figure = New(figsize=(width, height * rows + 0.5))
    return figure, list(figure.subplots(rows, squeeze=False)[:, 0])


def short(label: str, longest: int = LABEL) -> str:
    """Return a name as a figure has room for it."""
    return label if len(label) <= longest else f"{label[: longest - 1]}…"


def sentences(axes: Axes, sizes: Sequence[int]) -> None:
    """Draw a logarithmic axis of numbers of sentences, with a tick for each that was trained on and for no other."""
    axes.set_xscale("log")
    axes.set_xticks(list(sizes), [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("sentences")


def undrawn(rows: Sequence[object], drawn: Sequence[object]) -> list[str]:
    """Return a sentence on the methods that are not drawn, if there are any."""
    left = len(rows) - len(drawn)
    return [f"Drawn: the {len(drawn)} methods with the highest scores; {left} are not drawn."] if left else []


def save(plot: Plot, out: Path) -> None:
    """Write the same bytes for the same figure, with its caption and without a date. Raises: BadResults."""
    from matplotlib import rc_context

    metadata = {
        ".png": {"Description": plot.caption, "Software": None},
        ".svg": {"Description": plot.caption, "Date": None, "Creator": "cseb"},
        ".pdf": {"Subject": plot.caption, "CreationDate": None, "Creator": "cseb"},
    }[out.suffix]
    content = io.BytesIO()
    with rc_context({"svg.hashsalt": "cseb"}):  # names inside the file do not change from run to run
        plot.figure.savefig(content, format=out.suffix[1:], dpi=200, metadata=metadata)
    write_beside(out, content.getvalue())
