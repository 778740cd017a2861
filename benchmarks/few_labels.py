"""Draw accuracy by number of labels, for the page `results/few-labels`.

python -m benchmarks.few_labels
"""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cseb.plots.style import REFERENCE, LineEnd, Plot, label_lines, save
from cseb.records.store import Store

FOLDER = Path(__file__).parents[1] / "results" / "few-labels"
HEIGHT = 5.0  # inches
PANELS = {"clinc150": "CLINC150, 120 intents", "banking77": "Banking77, 57 intents"}
LINES = {  # protocol and method: label, colour, line style
    ("shots", "words alone"): ("TF-IDF", REFERENCE, ":"),
    ("shots", "mean"): ("frozen, untrained", REFERENCE, "--"),
    ("setfit", "mean"): ("SetFit, untrained", REFERENCE, "-"),
    ("shots", "simcse+mean"): ("frozen, SimCSE", "tab:blue", "--"),
    ("setfit", "simcse+mean"): ("SetFit, SimCSE", "tab:blue", "-"),
}

Values = dict[int, list[float]]  # by number of labels, over seeds


def accuracies(folder: Path) -> dict[tuple[str, str, str], Values]:
    """Return accuracies by task, protocol and method."""
    found: defaultdict[tuple[str, str, str], Values] = defaultdict(lambda: defaultdict(list))
    for record in Store(folder).load()[0]:
        for score in record.scores:
            match = re.match(r"(shots|setfit)(\d+)(?:\(.*\))?:(\w+)", score.task)
            if match and score.select == "last" and score.value is not None:
                method = record.method.partition("+recipe")[0]
                found[match[3], match[1], method][int(match[2])].append(score.value)
    return found


def draw(folder: Path) -> Figure:
    """Return a figure with a panel for each task: means over seeds, bars of one standard deviation."""
    values = accuracies(folder)
    figure = Figure(figsize=(9, HEIGHT), layout="constrained")
    for axes, (task, title) in zip(figure.subplots(1, 2, sharey=True), PANELS.items(), strict=True):
        ends = []
        for (protocol, method), (label, colour, style) in LINES.items():
            labels, scores = zip(*sorted(values[task, protocol, method].items()), strict=True)
            means = [np.mean(each) for each in scores]
            spreads = [np.std(each, ddof=1) if len(each) > 1 else 0.0 for each in scores]
            axes.errorbar(labels, means, spreads, color=colour, linestyle=style, marker="o", markersize=3)
            ends.append(LineEnd(float(means[-1]), label, colour))
        axes.set_xscale("log", base=2)
        axes.set_xticks(labels, [str(label) for label in labels])
        axes.set_xlabel("labels per class")
        axes.set_title(title)
    figure.axes[0].set_ylabel("accuracy in %")
    label_lines(axes, ends, HEIGHT)
    return figure


if __name__ == "__main__":
    save(Plot(draw(FOLDER), "Accuracy by labels per class."), FOLDER / "labels.svg")
