"""Numbers that papers report, read from CSV files; `benchmarks/published/` has those of five papers, one a row."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cseb.data import shipped
from cseb.data.bounded import open_regular
from cseb.errors import BadData

NEEDED = ("method", "task", "mean")
TEXTS = ("method", "task", "paper", "table", "setting", "cseb_method", "variant", "encoder", "metric", "flag")
DECIMAL = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]{0,12})?", re.ASCII)  # as tables print numbers


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
    """Return the numbers in a CSV file with a header.

    Columns: method, task, mean; optional: paper, table, setting, cseb_method, variant, encoder, fraction, metric, std,
    n_seeds, source_note, flag. Others are ignored. Raises: BadData, naming the line.
    """
    return [_printed(row, f"{path}, line {line}", line) for line, row in enumerate(read_table(path, NEEDED), 2)]


def read_table(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """Return the rows of a CSV file by the names in its header. Raises: BadData if it lacks a needed column."""
    try:
        with open_regular(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, restval="")
            names = tuple(reader.fieldnames or ())
            if missing := [name for name in needed if name not in names]:
                raise BadData(f"{path} has no column {missing[0]!r}; wanted: {', '.join(needed)}; found: {names}")
            return [{name: _printable(row[name]) for name in names} for row in reader]
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadData(f"{path} is no CSV file in UTF-8: {error}") from None


def _printable(text: str | None) -> str:
    """Return a cell on one line, without codes that a terminal would obey."""
    return "".join(letter if letter.isprintable() else " " for letter in text or "").strip()


def _printed(row: Mapping[str, str], where: str, line: int) -> Printed:
    numbers: dict[str, float | None] = {}
    for name in ("mean", "std", "fraction", "n_seeds"):
        text = row.get(name, "")
        if text and not DECIMAL.fullmatch(text):
            raise BadData(f"{where}: {name} is {text[:40]!r}; a decimal number or nothing is allowed")
        numbers[name] = float(text) if text else None
    mean, seeds = numbers["mean"], numbers["n_seeds"]
    if mean is None or not row["method"] or not row["task"]:
        raise BadData(f"{where}: method, task and mean are needed in every row")
    if seeds is not None and (seeds < 1 or seeds != int(seeds)):
        raise BadData(f"{where}: n_seeds is {row['n_seeds'][:40]!r}; a number of runs is needed")
    return Printed(
        **{name: row.get(name, "") for name in TEXTS},
        mean=mean,
        text=row["mean"],
        std=numbers["std"],
        std_text=row.get("std", ""),
        fraction=numbers["fraction"],
        n_seeds=None if seeds is None else int(seeds),
        note=row.get("source_note", ""),
        line=line,
    )
