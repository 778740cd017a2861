"""Scores and paired differences of archived records, computed with pandas and scipy and without cseb."""

from __future__ import annotations

import io
import json
import lzma
import re
import warnings
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import optimize, stats

MARGIN, LEVEL, FEWEST, MOST = 0.5, 0.05, 5, 40


def archived(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the records of a folder."""
    for path in sorted([*folder.glob("records*.zip"), *folder.glob("records*.zip.xz")]):
        content = lzma.decompress(path.read_bytes()) if path.suffix == ".xz" else path.read_bytes()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield from (json.loads(archive.read(name)) for name in archive.namelist() if name.startswith("runs/"))


@cache
def records(folder: Path) -> pd.DataFrame:
    """Return one row for each reported record, checkpoint and task."""
    rows = []
    for record in archived(folder):
        shared = {
            "key": record["key"],
            "method": record["method"],
            "size": record["subset"]["size"],
            "seed": record["seed"],
            "encoder": re.sub(r"[^/:]*/", "", record["encoder"]["name"]),
            "version": record["resolved"],
        }
        for s in record["scores"] if record.get("purpose") != "tuning" else ():
            rows.append(
                shared | {"checkpoint": s["select"], "task": s["task"], "protocol": s["protocol"], "score": s["value"]}
            )
    return pd.DataFrame(rows)


@cache
def dev_scores(folder: Path, size: int) -> dict[str, dict[str, float]]:
    """Return the mean dev score over tuning seeds by method and tried value; minus infinity if a seed collapsed.

    The trials of a method are those that its runs name, and all others that differ from them in the tuned value alone.
    """
    named: dict[str, str] = {}
    trials: dict[str, tuple[str, str, float]] = {}
    for record in archived(folder):
        if record.get("purpose") != "tuning":
            named |= dict.fromkeys((record.get("tuning") or {}).get("trials", ()), record["method"])
        elif record["subset"]["size"] == size:
            value = ", ".join(re.findall(r"=([^()]*)\)", record["tuning"]["options"]))
            trials[record["key"]] = (_search(record), value, _dev_score(record))
    methods = {trials[key][0]: method for key, method in named.items() if key in trials}
    table: dict[str, dict[str, list[float]]] = {}
    for search, value, score in trials.values():
        if search in methods:
            table.setdefault(methods[search], {}).setdefault(value, []).append(score)
    return {method: {value: float(np.mean(seeds)) for value, seeds in row.items()} for method, row in table.items()}


def _search(trial: dict[str, Any]) -> str:
    """Return all that the trials of one search share: everything but the seed and the tuned value."""
    resolved = trial["resolved"]
    for name in re.findall(r"\((\w+)=", trial["tuning"]["options"]):
        resolved = re.sub(rf"\b{name}=[^,()]*", "", resolved)
    return json.dumps([resolved, trial["encoder"]["sha256"], trial["corpus"]["sha256"], trial["protocol"]])


def _dev_score(trial: dict[str, Any]) -> float:
    """Return the score of the best checkpoint on the dev set, or of the dev task that a trial was scored on."""
    select = "best" if trial["protocol"]["dev"] else "last"
    values = [score["value"] for score in trial["scores"] if score["select"] == select]
    trace = trial["trace"] or {"curve": ()}
    values = values or [dev for step, _, dev in trace["curve"] if dev is not None and step == trace["best_step"]][-1:]
    return float(np.mean(values)) if values and None not in values else -np.inf


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
    """Scores of two methods, of the same seeds if they are paired; `adjusted` is the p-value of a whole family."""

    first: np.ndarray
    second: np.ndarray
    paired: bool = True
    adjusted: float | None = None

    @property
    def n(self) -> int:
        """Return the number of seeds, the smaller one if they are not paired."""
        return min(len(self.first), len(self.second))

    @property
    def mean(self) -> float:
        """Return the mean difference."""
        return float(self.second.mean() - self.first.mean())

    @property
    def constant(self) -> bool:
        """Return whether no score varies, or no difference if they are paired."""
        values = [self.second - self.first] if self.paired else [self.first, self.second]
        return max(float(np.ptp(each)) for each in values) <= 1e-9

    @cached_property
    def test(self) -> Any:
        """Return scipy's result of the paired t-test."""
        with warnings.catch_warnings(action="ignore"):  # of rounding, where an untrained encoder does not vary
            return stats.ttest_1samp(self.second - self.first, 0)

    @cached_property
    def variances(self) -> np.ndarray:
        """Return the variance of the mean of either method, (2,)."""
        return np.array([each.var(ddof=1) / len(each) for each in (self.first, self.second)])

    def width(self, level: float) -> float:
        """Return the half width of the unpaired interval: quantiles averaged by variance (Cochran & Cox 1950)."""
        quantiles = stats.t.isf(level / 2, [len(self.first) - 1, len(self.second) - 1])
        return float(np.average(quantiles, weights=self.variances) * np.sqrt(self.variances.sum()))

    @cached_property
    def p(self) -> float | None:
        """Return the p-value of the t-test; None for fewer than three seeds and for constant differences."""
        if self.n < 3:
            return None
        if self.constant:
            return 1.0 if abs(self.mean) <= 1e-9 else None
        if self.paired:
            return float(self.test.pvalue)
        if self.width(1e-250) < abs(self.mean):
            return 0.0
        return float(np.exp(optimize.brentq(lambda log: self.width(np.exp(log)) - abs(self.mean), np.log(1e-250), 0)))

    def interval(self, level: float) -> tuple[float, float] | None:
        """Return the interval of the mean difference; None without a variance."""
        if self.n < 2 or (self.constant and abs(self.mean) > 1e-9):
            return None
        if not (self.paired or self.constant):
            return self.mean - self.width(level), self.mean + self.width(level)
        low, high = (0.0, 0.0) if self.constant else self.test.confidence_interval(1 - level)
        return float(low), float(high)

    @property
    def conclusion(self) -> str:
        """Return the conclusion of the family's test."""
        if self.paired and self.n > 1 and float(np.abs(self.second - self.first).max()) <= 1e-9:
            return "identical"
        if self.adjusted is None or self.n < FEWEST:
            return "too few seeds"
        if self.adjusted <= LEVEL:
            return "better" if self.mean > 0 else "worse"
        low, high = self.interval(2 * LEVEL) or (-np.inf, np.inf)
        return "equivalent" if low > -MARGIN and high < MARGIN else "inconclusive"


def family(
    at_size: pd.DataFrame, pairs: Sequence[tuple[str, str]], *, paired: bool = True
) -> dict[tuple[str, str], Pair]:
    """Return (baseline, method) to their comparison, corrected together. at_size: methods by seeds."""
    raw = {}
    for a, b in pairs:
        rows = at_size.loc[[a, b]]
        rows = rows.dropna(axis=1) if paired else rows
        pair = Pair(rows.loc[a].dropna().to_numpy(), rows.loc[b].dropna().to_numpy(), paired)
        if pair.n:
            raw[a, b] = pair
    tested = [pair for pair in raw if raw[pair].p is not None]
    adjusted = dict(zip(tested, holm([raw[pair].p or 0.0 for pair in tested]), strict=True))
    return {pair: replace(found, adjusted=adjusted.get(pair)) for pair, found in raw.items()}


@cache
def is_paired(folder: Path, baseline: str) -> bool:
    """Return whether seeds are paired in the published comparisons of a folder with a baseline."""
    pages = [path.read_text("utf-8") for path in folder.glob("compare*.md")]
    own = (page for page in pages if page.startswith(f"**Comparison with {baseline}:"))
    return not any("t-test of all seeds" in page for page in own)


@cache
def against(folder: Path, tasks: tuple[str, ...], select: str, size: int, baseline: str) -> dict[str, Pair]:
    """Return the comparison of every other method with a baseline, by method."""
    table = scores(folder, tasks, select)
    at_size = pd.DataFrame(table.xs(size, level="size"))
    pairs = [(baseline, method) for method in at_size.index if method != baseline]
    return {b: pair for (_, b), pair in family(at_size, pairs, paired=is_paired(folder, baseline)).items()}


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
