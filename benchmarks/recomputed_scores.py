"""Scores and paired differences of archived records, computed with pandas and scipy and without cseb."""

from __future__ import annotations

import io
import json
import lzma
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

MARGIN, LEVEL, FEWEST, MOST = 0.5, 0.05, 5, 40


@cache
def records(folder: Path) -> pd.DataFrame:
    """Return one row for each record, checkpoint and task."""
    rows = []
    for path in sorted([*folder.glob("records*.zip"), *folder.glob("records*.zip.xz")]):
        content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                if name.startswith("runs/"):
                    record = json.loads(archive.read(name))
                    shared = {
                        "key": record["key"],
                        "method": record["method"],
                        "size": record["subset"]["size"],
                        "seed": record["seed"],
                        "encoder": re.sub(r"[^/:]*/", "", record["encoder"]["name"]),
                        "version": record["resolved"],
                    }
                    rows += [
                        {
                            **shared,
                            "checkpoint": s["select"],
                            "task": s["task"],
                            "protocol": s["protocol"],
                            "score": s["value"],
                        }
                        for s in record["scores"]
                    ]
    return pd.DataFrame(rows)


def scores(folder: Path, tasks: Sequence[str], select: str) -> pd.DataFrame:
    """Return the average over `tasks` of each run: a row for each method and size, a column for each seed."""
    table = records(folder)
    table = table[(table.checkpoint == select) & table.task.isin(tasks)]
    runs = table.groupby(["method", "size", "seed"], sort=False).score.agg(["mean", "count"])
    return runs[runs["count"] == len(tasks)]["mean"].unstack("seed")


def tasks_of(folder: Path, names: str = "") -> tuple[str, ...]:
    """Return the tasks of the first protocol, or those of a group (sts, transfer, first16:sts) or of one name."""
    table = records(folder).drop_duplicates("task")
    if not names:
        return tuple(table[table.protocol == table.protocol.iloc[0]].task)
    prefix = names.removesuffix("sts").removesuffix("transfer")
    if names.endswith(("sts", "transfer")):
        protocol = "simcse-sts" if names.endswith("sts") else "senteval-transfer"
        chosen = [task for task, name in zip(table.task, table.protocol, strict=True) if name.startswith(protocol)]
        return tuple(task for task in chosen if (":" in task) == bool(prefix) and task.startswith(prefix))
    return tuple(task for task in table.task if task.partition("@")[0] == names)


def holm(p: Sequence[float]) -> list[float]:
    """Return p-values adjusted by Holm 1979."""
    order, adjusted, highest = sorted(range(len(p)), key=lambda place: p[place]), [0.0] * len(p), 0.0
    for rank, place in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[place]))
        adjusted[place] = highest
    return adjusted


@dataclass(frozen=True)
class Pair:
    """Differences of two methods at their shared seeds; `p` is adjusted once the family is known."""

    differences: np.ndarray
    adjusted: float | None = None

    @property
    def constant(self) -> bool:
        """Return whether all differences are equal."""
        return bool(np.ptp(self.differences) <= 1e-9)

    @property
    def p(self) -> float | None:
        """Return the p-value of the paired t-test; None for fewer than three seeds and for constant differences."""
        if len(self.differences) < 3:
            return None
        if self.constant:
            return 1.0 if abs(self.differences[0]) <= 1e-9 else None
        return float(stats.ttest_1samp(self.differences, 0).pvalue)

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return Student's interval of the mean; None without a variance."""
        n = len(self.differences)
        if n < 2 or (self.constant and abs(self.differences[0]) > 1e-9):
            return None
        half = stats.t.isf(level / 2, n - 1) * np.std(self.differences, ddof=1) / np.sqrt(n) if not self.constant else 0
        return float(self.differences.mean() - half), float(self.differences.mean() + half)

    @property
    def conclusion(self) -> str:
        """Return the conclusion of the family's test."""
        if len(self.differences) > 1 and float(np.abs(self.differences).max()) <= 1e-9:
            return "identical"
        if self.adjusted is None or len(self.differences) < FEWEST:
            return "too few seeds"
        if self.adjusted <= LEVEL:
            return "better" if self.differences.mean() > 0 else "worse"
        low, high = self.interval(2 * LEVEL) or (-np.inf, np.inf)
        return "equivalent" if low > -MARGIN and high < MARGIN else "inconclusive"


def family(at_size: pd.DataFrame, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Pair]:
    """Return (baseline, method) to their comparison, corrected together. at_size: methods by seeds."""
    raw = {}
    for a, b in pairs:
        differences = (at_size.loc[b] - at_size.loc[a]).dropna().to_numpy()
        if len(differences):
            raw[a, b] = Pair(differences)
    tested = [pair for pair in raw if raw[pair].p is not None]
    adjusted = dict(zip(tested, holm([raw[pair].p or 0.0 for pair in tested]), strict=True))
    return {pair: Pair(found.differences, adjusted.get(pair)) for pair, found in raw.items()}


@cache
def against(folder: Path, tasks: tuple[str, ...], select: str, size: int, baseline: str) -> dict[str, Pair]:
    """Return the comparison of every other method with a baseline, by method."""
    table = scores(folder, tasks, select)
    at_size = pd.DataFrame(table.xs(size, level="size"))
    methods = [method for method in at_size.index if method != baseline]
    return {b: pair for (_, b), pair in family(at_size, [(baseline, method) for method in methods]).items()}


@cache
def growth(folder: Path, tasks: tuple[str, ...], select: str, few: int, many: int) -> dict[str, Pair]:
    """Return the comparison of every method at one size with itself at a smaller one, by method."""
    table = scores(folder, tasks, select)
    table.index = [f"{method}@{size}" for method, size in table.index]
    pairs = [(name, f"{name.rpartition('@')[0]}@{many}") for name in table.index if name.endswith(f"@{few}")]
    pairs = [(a, b) for a, b in pairs if b in table.index]
    return {b.rpartition("@")[0]: pair for (_, b), pair in family(table, pairs).items() if not pair.constant}


@cache
def best(folder: Path, tasks: tuple[str, ...], select: str, size: int) -> frozenset[str]:
    """Return the methods in bold: the best mean and all not significantly different; empty if that is every one."""
    at_size = pd.DataFrame(scores(folder, tasks, select).xs(size, level="size"))
    if not 1 < len(at_size) <= MOST:
        return frozenset()
    order = list(at_size.mean(axis=1).sort_values(ascending=False, kind="stable").index)
    pairs = family(at_size, list(combinations(order, 2)))
    conclusions = {b: pair.conclusion for (a, b), pair in pairs.items() if a == order[0]}
    if all(conclusion == "too few seeds" for conclusion in conclusions.values()):
        return frozenset()
    alike = {m for m in order[1:] if conclusions.get(m) not in ("better", "worse", "too few seeds")}
    return frozenset() if len(alike) + 1 == len(order) else frozenset({order[0], *alike})
