"""Intervals for new seeds and new test examples in the table of `results/few-labels`, recomputed; see `recompute`."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import numpy as np
from scipy import stats

from benchmarks.recomputed_scores import LEVEL, archived
from benchmarks.recomputed_statements import named

COMPARED = ("mean", "simcse+mean")
CLASSIFIERS = {"frozen encoder": "shots", "SetFit": "setfit"}  # as the table and as tasks name them


def check_intervals(path: Path, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Return the differences in a table with the columns task, labels per class, classifier on and interval."""
    if "95 % interval" not in heads or "labels per class" not in heads:
        return
    for cells in rows:
        row = dict(zip(heads, cells, strict=True))
        name = f"{CLASSIFIERS[row['classifier on']]}{row['labels per class']}"
        data = row["task"].partition(",")[0].lower()
        before, after = (_right(path.parent, method, name, data) for method in COMPARED)
        low, mean, high = interval(before, after)
        ends = row["95 % interval"].replace("\N{MINUS SIGN}", "-").split(" to ")
        printed = [(row["difference"], mean, 0.005), *zip(ends, (low, high), (0.05, 0.05), strict=True)]
        wrong = [abs(float(text) - value) > room + 1e-9 for text, value, room in printed]
        if any(wrong):
            where, shown = (
                f"{named(path)}, {row['task']}, {name}",
                f"{row['difference']}, {' to '.join(ends)}",
            )
            yield f"{where}: {shown}, recomputed {mean:.2f}, {low:.2f} to {high:.2f}"


def interval(before: np.ndarray, after: np.ndarray) -> tuple[float, float, float]:
    """Return the ends of the interval of the mean difference, and between them the difference.

    before, after: accuracy of each seed and test example, (seeds, examples). The variance is that over seeds, and that
    over examples of the mean of all seeds; its degrees of freedom are Satterthwaite's, the variance over examples being
    known. An interval for seeds alone is used where it is wider.
    """
    differences = after - before
    seeds, examples = differences.shape
    mean, between = differences.mean(), stats.sem(differences.mean(axis=1)) ** 2
    total = between + differences.mean(axis=0).var() / examples
    freedom = (seeds - 1) * (total / between) ** 2
    parts = ((between, seeds - 1), (total, freedom))
    width = max(np.sqrt(variance) * stats.t.isf(LEVEL / 2, df) for variance, df in parts)
    return mean - width, mean, mean + width


@cache
def _right(folder: Path, method: str, name: str, data: str) -> np.ndarray:
    """Return 100 x the share of draws in which each test example is right, (seeds, examples), in the order of seeds."""
    seeds = {}
    with zipfile.ZipFile(folder / "items.zip") as archive:
        for record in archived(folder):
            if record["method"] == method and record.get("purpose") != "tuning":
                with np.load(io.BytesIO(archive.read(f"items/{record['key']}.npz"))) as arrays:
                    [task] = (each for each in arrays.files if re.fullmatch(rf"{name}(\(.*\))?:{data}@\d+/last", each))
                    seeds[record["seed"]] = 100 * arrays[task].astype(float).mean(axis=1)
    return np.stack([seeds[seed] for seed in sorted(seeds)])
