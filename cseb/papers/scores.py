"""Scores that papers report for a method, fraction, encoder and task.

`benchmarks/published/` has the scores of five papers, one per row. Papers copy each other's numbers, run baselines
again and revise their own, so that one method at one fraction often has several published scores: all are returned.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cseb.data import shipped
from cseb.data.bounded import readable

TEXTS = ("method", "task", "paper", "table", "setting", "cseb_method", "variant", "encoder", "metric", "flag")


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One number of one table.

    mean, std: scores. text, std_text: the numbers as printed, which shows how they were rounded. fraction: part of the
    training set; None for untrained encoders, for training on NLI and where none is stated. n_seeds: runs of the mean,
    None where the paper does not say. variant: "" is the method as published. cseb_method: the method of cseb that the
    row reports, as `str(method)` writes it; "" if there is none. line: of the file.
    """

    method: str
    task: str
    mean: float
    text: str
    line: int
    paper: str = ""
    table: str = ""
    setting: str = ""
    cseb_method: str = ""
    variant: str = ""
    encoder: str = ""
    metric: str = ""
    fraction: float | None = None
    std: float | None = None
    std_text: str = ""
    n_seeds: int | None = None
    note: str = ""
    flag: str = ""

    @property
    def where(self) -> str:
        """Return paper and table, or the line of a file that names neither."""
        return ", ".join(filter(None, (self.paper, self.table))) or f"line {self.line}"

    @property
    def row(self) -> tuple[str, str, str, str, str, float | None]:
        """Return the properties that the numbers of one row of one table share."""
        return self.paper, self.table, self.method, self.variant, self.encoder, self.fraction


@cache
def shipped_rows() -> tuple[Printed, ...]:
    """Return the scores that come with cseb; none if the file is absent."""
    path = shipped.published_scores()
    return tuple(read_scores(path)) if path.is_file() else ()


def read_scores(path: Path) -> list[Printed]:
    """Return the numbers in a CSV file with a header: method, task, mean, and further columns of `Printed`."""
    return [_printed(row, line) for line, row in enumerate(read_table(path), 2)]


def read_table(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file by the names in its header. Raises: BadData."""
    with readable(path), path.open(encoding="utf-8-sig", newline="") as file:
        return [{name: text.strip() for name, text in row.items()} for row in csv.DictReader(file, restval="")]


def _printed(row: Mapping[str, str], line: int) -> Printed:
    std, fraction = (float(text) if (text := row.get(name)) else None for name in ("std", "fraction"))
    return Printed(
        **{name: row.get(name, "") for name in TEXTS},
        mean=float(row["mean"]),
        text=row["mean"],
        std=std,
        std_text=row.get("std", ""),
        fraction=fraction,
        n_seeds=int(seeds) if (seeds := row.get("n_seeds")) else None,
        note=row.get("source_note", ""),
        line=line,
    )


def own_rows(method: str) -> list[Printed]:
    """Return every published number of a method as typed, whatever the task, fraction and encoder."""
    return [row for row in shipped_rows() if method and row.cseb_method == method]
