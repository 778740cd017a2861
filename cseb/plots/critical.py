"""The critical-difference diagram: mean ranks over corpora, and which methods are not significantly different."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cseb.analysis.corpus_blocks import Blocks, corpora
from cseb.plots.style import Plot, panels
from cseb.reports.captions import signature
from cseb.reports.tables import averaged
from cseb.statistics.blocks import friedman, mean_ranks, signed_rank_chances, significant_pairs
from cseb.statistics.groups import joined
from cseb.statistics.intervals import LEVEL
from cseb.statistics.paired import MARGIN, exact_floor
from cseb.text import plain


def diagram(found: Blocks) -> Plot:
    """A line of mean ranks, best to the left, as Demsar 2006; a bar joins methods that are not significantly different.

    Dots on a bar are its methods: one that lies between them without a dot does not belong to it.
    """
    ranks = mean_ranks(found.scores)
    order = [int(place) for place in np.argsort(ranks, kind="stable")]
    bars = [group for group in joined(order, significant_pairs(found.scores)) if len(group) > 1]
    count, half = len(order), (len(order) + 1) // 2
    depth = 0.25 * (len(bars) + 1)  # of the bars, below which the names begin
    figure, ((axes,),) = panels(1, width=7, height=0.8 + 0.25 * (depth / 0.25 + half))
    axes.axis("off")
    axes.set_xlim(0.6 - 0.12 * count, count + 0.4 + 0.12 * count)
    axes.set_ylim(-depth - 0.3 * half - 0.1, 0.5)
    axes.plot([1, count], [0, 0], color="black", linewidth=1)
    for rank in range(1, count + 1):
        axes.plot([rank, rank], [0, 0.08], color="black", linewidth=1)
        axes.annotate(str(rank), (rank, 0.14), ha="center")
    for turn, place in enumerate(order):
        left = turn < half
        height = -depth - 0.3 * (turn if left else count - 1 - turn)
        end = 0.9 if left else count + 0.1
        axes.plot([ranks[place], ranks[place], end], [0, height, height], color="black", linewidth=0.8)
        text = f"{plain(found.methods[place])} ({ranks[place]:.2f})"
        axes.annotate(
            text,
            (end, height),
            xytext=(-3 if left else 3, 0),
            textcoords="offset points",
            ha="right" if left else "left",
            va="center",
        )
    for turn, group in enumerate(bars, 1):
        held = [ranks[place] for place in group]
        axes.plot(held, [-0.25 * turn] * len(held), color="black", linewidth=3, marker="o", markersize=5)
    return Plot(figure, " ".join(_caption(found, order)))


def _caption(found: Blocks, order: list[int]) -> Iterator[str]:
    methods, blocks = found.scores.shape
    pairs = methods * (methods - 1) // 2
    tested = f"Friedman's test of all: p = {friedman(found.scores):.3g}. " if methods > 2 else ""
    yield (
        f"Mean ranks of {methods} methods over {blocks} corpora with training runs of their own, "
        f"{averaged(found.tasks)}, {found.select} checkpoint, mean over seeds. {tested}A bar joins methods that "
        f"are not significantly different (Wilcoxon's signed-rank test, Holm over {pairs} pairs, {100 * LEVEL:g} %), "
        "or all "
        "of them where Friedman's test does not reject; its dots are its methods."
    )
    if exact_floor(blocks) * pairs > LEVEL:
        yield f"With {blocks} corpora and {pairs} pairs no difference can be significant, however large."
    first = order[0]
    chances = []
    for place in order[1:]:
        below, within, above = signed_rank_chances(found.scores[first] - found.scores[place])
        chances.append(f"{plain(found.methods[place])} {above:.2f}, {within:.2f}, {below:.2f}")
    yield (
        f"Bayesian signed-rank test: probabilities that {plain(found.methods[first])} is better by more than "
        f"{MARGIN:g} "
        f"points, within them, worse by more: {'; '.join(chances)}."
    )
    if found.left_out:
        yield f"Excluded, not on every corpus: {', '.join(map(plain, found.left_out))}."
    yield f"Corpora: {', '.join(corpora(found))}."
    yield f"On the first: {signature(found.studies[0], found.studies[0].sizes, found.tasks, (found.select,))}"
