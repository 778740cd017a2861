"""Numbers that papers print, read from CSV files; `benchmarks/published/` holds those of five papers, one a row."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from cseb.data import shipped
from cseb.data.bounded import open_regular
from cseb.errors import BadData

NEEDED = ("method", "task", "mean")
TEXTS = ("method", "task", "paper", "table", "setting", "cseb_method", "variant", "encoder", "metric")
DECIMAL = re.compile(r"[+-]?[0-9]{1,9}(\.[0-9]{0,12})?", re.ASCII)  # as tables print numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Printed:
    """One number of one table.

    mean, std: points. `text` and `std_text` are the numbers as printed, which is how one knows how they were rounded.
    fraction: part of the training set; None for encoders that are not trained, for training on NLI and where none is
    said. n_seeds: runs behind the mean, None where the paper does not say. variant: "" is the method as published.
    cseb_method: the method of cseb that the row reports, as `str(method)` writes it; "" if there is none. line: of the
    file.
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
        """Paper and table, or the line of a file that names neither."""
        return ", ".join(filter(None, (self.paper, self.table))) or f"line {self.line}"

    @property
    def row(self) -> tuple[str, str, str, str, str, float | None]:
        """What the numbers of one row of one table share."""
        return self.paper, self.table, self.method, self.variant, self.encoder, self.fraction


@cache
def shipped_rows() -> tuple[Printed, ...]:
    """The scores that come with cseb; none where the file is absent."""
    path = shipped.published_scores()
    return tuple(read_scores(path)) if path.is_file() else ()


def read_scores(path: Path) -> list[Printed]:
    """Printed numbers from a CSV file with a header.

    Columns: method, task, mean; and where there are any, paper, table, setting, cseb_method, variant, encoder,
    fraction, metric, std, n_seeds, source_note, flag. Others are ignored. Raises: BadData, naming the line.
    """
    rows = read_table(path, NEEDED)
    return [_printed(row, path, number) for number, row in enumerate(rows, 2)]


def read_table(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a CSV file by the names in its header. Raises: BadData if it lacks a needed column."""
    try:
        with open_regular(path) as file, io.TextIOWrapper(file, "utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, restval="")
            names = tuple(reader.fieldnames or ())
            if missing := [name for name in needed if name not in names]:
                raise BadData(f"{path} has no column {missing[0]!r}; wanted: {', '.join(needed)}; found: {names}")
            return [{name: _shown(row[name]) for name in names} for row in reader]
    except OSError as error:
        raise BadData(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadData(f"{path} is no CSV file in UTF-8: {error}") from None


def _shown(text: str | None) -> str:
    """A cell without what a terminal would obey, on one line."""
    return "".join(letter if letter.isprintable() else " " for letter in text or "").strip()


def _printed(row: Mapping[str, str], path: Path, line: int) -> Printed:
    def number(name: str) -> float | None:
        text = row.get(name, "")
        if text and not DECIMAL.fullmatch(text):
            raise BadData(f"{path}, line {line}: {name} is {text[:40]!r}; a decimal number or nothing belongs there")
        if text and not math.isfinite(float(text)):
            raise BadData(
                f"{path}, line {line}: {name} is {text[:40]!r}...; a number that can be computed with is needed"
            )
        return float(text) if text else None

    mean, seeds = number("mean"), number("n_seeds")
    if mean is None or not row["method"] or not row["task"]:
        raise BadData(f"{path}, line {line}: method, task and mean are needed in every row")
    if seeds is not None and (seeds < 1 or seeds != int(seeds)):
        raise BadData(f"{path}, line {line}: n_seeds is {row['n_seeds'][:40]!r}; a count of runs belongs there")
    return Printed(
        **{name: row.get(name, "") for name in TEXTS},
        mean=mean,
        text=row["mean"],
        std=number("std"),
        std_text=row.get("std", ""),
        fraction=number("fraction"),
        n_seeds=None if seeds is None else int(seeds),
        note=row.get("source_note", ""),
        flag=row.get("flag", ""),
        line=line,
    )
