"""Draw scores by steps of training and write their table, for the page `results/steps`.

    python -m benchmarks.steps

Both are made from `few-shot.csv` of `results/tuned`, which has 320 steps, and of the folders of `results/steps`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.marked import write_tables
from benchmarks.reading import Scores, scores, shown, tf_idf
from cseb.plots.style import REFERENCE, LineEnd, Plot, label_lines, save

RESULTS = Path(__file__).parents[1] / "results"
SIZE = 10_000
STEPS = (320, 1000, 3000)
HEIGHT = 5.0  # inches
TEACHER = "congen+outside_teacher(encoder='sentence-transformers/all-MiniLM-L6-v2')"
LINES = {  # method: label, embedding, colour, line style
    "mean": ("untrained", "mean", REFERENCE, "--"),
    "simcse": ("SimCSE", "[CLS]", "tab:blue", ":"),
    "simcse+mean": ("SimCSE", "mean", "tab:blue", "-"),
    "micse": ("miCSE", "[CLS]", "tab:brown", ":"),
    "msse": ("MSSE", "mask token", "tab:purple", "-"),
    "tsdae": ("TSDAE", "[CLS]", "tab:green", ":"),
    TEACHER: ("ConGen, with a teacher", "mean", "tab:orange", "-"),
}


def by_steps(results: Path) -> Mapping[int, Scores]:
    """Return the scores of each number of steps; untrained embeddings do not depend on it."""
    short = scores(results / "tuned")
    long = {**scores(results / "steps" / "gpu"), **scores(results / "steps" / "cpu")}
    ending = "+recipe(steps=1000,warmup=100,eval_every=250)"
    thousand = {
        (name.removesuffix(ending), size): score
        for (name, size), score in long.items()
        if name.endswith(ending) or name == "mean"
    }
    return dict(zip(STEPS, (short, thousand, long), strict=True))


def draw(results: Path) -> Figure:
    """Return a figure of scores by number of steps; bars are one standard deviation."""
    values, words = by_steps(results), tf_idf([results / "steps" / "cpu"])
    figure = Figure(figsize=(7, HEIGHT), layout="constrained")
    axes = figure.subplots()
    axes.axhline(words, color=REFERENCE, linestyle="-.", linewidth=1)
    ends = [LineEnd(words, "TF-IDF", REFERENCE)]
    for method, (label, embedding, colour, style) in LINES.items():
        cells = {steps: each[method, SIZE] for steps, each in values.items() if (method, SIZE) in each}
        means, spreads = zip(*cells.values(), strict=True)
        marker = "" if method == "mean" else "o"
        axes.errorbar(list(cells), means, spreads, color=colour, linestyle=style, marker=marker, markersize=4)
        ends.append(LineEnd(means[-1], f"{label}, {embedding}", colour))
    axes.set_xscale("log")
    axes.set_xticks(STEPS, [f"{number:,}" for number in STEPS])
    axes.minorticks_off()
    axes.set_xlabel("steps of 32 sentences")
    axes.set_ylabel("Spearman x 100, seven STS sets")
    label_lines(axes, ends, HEIGHT)
    return figure


def table(results: Path) -> str:
    """Return the Markdown table: a row for each method, a column for each number of steps."""
    values = by_steps(results)
    lines = [["method", "embedding", *(f"{steps:,} steps" for steps in STEPS)], ["---", "---", *["---:"] * len(STEPS)]]
    for method, (label, embedding, *_) in LINES.items():
        lines.append([label, embedding, *(shown(each.get((method, SIZE))) for each in values.values())])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    save(Plot(draw(RESULTS), "Scores by steps of training."), RESULTS / "steps" / "steps.svg")
    write_tables(RESULTS / "steps" / "README.md", "benchmarks/steps.py", {"scores": table(RESULTS)})
