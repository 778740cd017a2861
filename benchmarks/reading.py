"""Draw scores by tokens of pre-training and write their table, for the page `results/reading`.

    python -m benchmarks.reading

Both are made from `few-shot.csv` of the folders, one for each encoder.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure

from benchmarks.marked import write_tables
from cseb.plots.style import REFERENCE, LineEnd, Plot, label_lines, save

FOLDER = Path(__file__).parents[1] / "results" / "reading"
SIZES = (1000, 10_000)
HEIGHT = 4.2  # inches
LINES = {  # method: label, embedding, colour, line style
    "mean": ("untrained", "mean", REFERENCE, "-"),
    "first_last": ("untrained", "first and last layer", REFERENCE, "--"),
    "cls": ("untrained", "[CLS]", REFERENCE, ":"),
    "simcse+mean": ("SimCSE", "mean", "tab:blue", "-"),
    "simcse": ("SimCSE", "[CLS]", "tab:blue", ":"),
    "tsdae": ("TSDAE", "[CLS]", "tab:green", ":"),
}
UNTRAINED = ("mean", "first_last", "cls")  # the same at every size

Scores = Mapping[tuple[str, int], tuple[float, float]]  # mean and standard deviation of a method at a size


def million_tokens(folder: Path) -> int:
    """Return how much an encoder has read; its name ends with it."""
    return int(folder.name.rpartition("-")[2])


def encoders(folder: Path) -> list[Path]:
    """Return the folders of one encoder each, first those of one run of pre-training."""
    folders = (path.parent for path in folder.glob("*/few-shot.csv"))
    return sorted(folders, key=lambda path: ("seed" in path.name, million_tokens(path)))


def scores(folder: Path) -> Scores:
    """Return the scores of an encoder, best checkpoint, over seeds."""
    table = pd.read_csv(folder / "few-shot.csv")
    table = table[(table["table"] == "few-shot") & (table["select"] == "best")]
    return {(row["method"], int(row["size"])): (row["mean"], row["sd"]) for _, row in table.iterrows()}


def tf_idf(folders: Iterable[Path]) -> float:
    """Return the score of TF-IDF, which no encoder changes: one of the folders has its record."""
    tables = pd.concat(pd.read_csv(each / "few-shot.csv") for each in folders)
    averages = tables[(tables["table"] == "per-task") & (tables["column"] == "average")]
    (score,) = averages.loc[averages["method"].str.startswith("words:tf-idf:"), "mean"]
    return float(score)


def draw(folder: Path) -> Figure:
    """Return a figure with a panel for each size; bars are one standard deviation. It shows one run of pre-training."""
    run = [each for each in encoders(folder) if each.name == f"tiny-{million_tokens(each)}"]
    values, tokens = [scores(each) for each in run], [million_tokens(each) for each in run]
    words = tf_idf(encoders(folder))
    figure = Figure(figsize=(9, HEIGHT), layout="constrained")
    for axes, size in zip(figure.subplots(1, len(SIZES), sharey=True), SIZES, strict=True):
        ends = [LineEnd(words, "TF-IDF", REFERENCE)]
        axes.axhline(words, color=REFERENCE, linestyle="-.", linewidth=1)
        for method, (label, embedding, colour, style) in LINES.items():
            means, spreads = zip(*(each[method, size] for each in values), strict=True)
            axes.errorbar(tokens, means, spreads, color=colour, linestyle=style, marker="o", markersize=3)
            ends.append(LineEnd(means[-1], f"{label}, {embedding}", colour))
        axes.set_xscale("log")
        axes.set_xticks(tokens, [f"{number:,}" for number in tokens])
        axes.minorticks_off()
        axes.set_xlabel("million tokens of pre-training")
        axes.set_title(f"{size:,} sentences")
    figure.axes[0].set_ylabel("Spearman x 100, seven STS sets")
    label_lines(axes, ends, HEIGHT)
    return figure


def table(folder: Path) -> str:
    """Return the Markdown table: a row for each method and size, a column for each encoder."""
    folders = encoders(folder)
    columns = [scores(each) for each in folders]
    heads = ["method", "embedding", "sentences", *(f"`{each.name}`" for each in folders)]
    lines = [heads, ["---", "---", *["---:"] * (1 + len(folders))]]
    for method, (label, embedding, *_) in LINES.items():
        for size in SIZES[:1] if method in UNTRAINED else SIZES:
            cells = [column.get((method, size)) for column in columns]
            lines.append([label, embedding, "" if method in UNTRAINED else f"{size:,}", *map(shown, cells)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def shown(cell: tuple[float, float] | None) -> str:
    """Return a mean and its standard deviation, where there is one, as a cell of a table."""
    if cell is None:
        return "--"
    mean, spread = cell
    return f"{mean:.2f} ± {spread:.2f}" if spread > 0.005 else f"{mean:.2f}"


if __name__ == "__main__":
    save(Plot(draw(FOLDER), "Scores by tokens of pre-training."), FOLDER / "reading.svg")
    write_tables(FOLDER / "README.md", "benchmarks/reading.py", {"scores": table(FOLDER)})
