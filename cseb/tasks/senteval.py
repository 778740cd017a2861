"""Rated pairs from files in SentEval's layout: a folder that holds STS/ and SICK/.

Source: Conneau & Kiela 2018, as the evaluation of Gao et al. 2021 reads them. Both sentences are split at white space
and joined by single blanks; nothing else about the text is changed. Row counts are checked before anything is scored:
shortened copies of these files have put wrong numbers into published tables. The counts are those of the manifest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cseb.data.bounded import MIB, read_bytes
from cseb.data.manifest import files_of
from cseb.errors import BadData
from cseb.tasks.column_roles import LARGEST
from cseb.tasks.folder import WANTED
from cseb.tasks.pairs import Pairs

LONGEST = 64 * MIB  # bytes of a file; the largest of the toolkit has 10


class Rows(NamedTuple):
    """How many rows a file must have, and how many of them people rated; the others are dropped."""

    rated: int
    total: int


def _year(year: str) -> Mapping[str, Rows]:
    """The subsets of a year by name, in the order in which they are put together."""
    rated = {Path(one.file).stem.removeprefix("STS.gs."): one for one in files_of(f"sts{year}").values() if one.rated}
    return {name: Rows(one.rated or 0, one.rows) for name, one in rated.items()}


# The fourth subset of STS13, SMT, may not be passed on and is left out by everybody.
YEARS: Mapping[str, Mapping[str, Rows]] = {year: _year(year) for year in ("12", "13", "14", "15", "16")}


class Table(NamedTuple):
    """One file with both sentences and their score: its rows, and which columns, from 0, these are."""

    file: str
    rows: int
    left: int
    right: int
    gold: int
    columns: int
    header: int  # lines above the first row


def _table(data: str, file: str, left: int, right: int, gold: int, columns: int) -> Table:
    known = files_of(data)[file]
    return Table(file, known.rows, left, right, gold, columns, known.header)


STSB_TRAIN = _table("stsb", "STS/STSBenchmark/sts-train.csv", left=5, right=6, gold=4, columns=7)
STSB_DEV = _table("stsb", "STS/STSBenchmark/sts-dev.csv", left=5, right=6, gold=4, columns=7)
STSB_TEST = _table("stsb", "STS/STSBenchmark/sts-test.csv", left=5, right=6, gold=4, columns=7)
SICK_TRAIN = _table("sick", "SICK/SICK_train.txt", left=1, right=2, gold=3, columns=5)
SICK_DEV = _table("sick", "SICK/SICK_trial.txt", left=1, right=2, gold=3, columns=5)
SICK_TEST = _table("sick", "SICK/SICK_test_annotated.txt", left=1, right=2, gold=3, columns=5)


def read_year(year: str, root: Path) -> tuple[Pairs, ...]:
    """The subsets of STS12 to STS16, in the order in which they are put together. Raises: BadData."""
    folder = root / f"STS/STS{year}-en-test"
    return tuple(_read_subset(folder, name, rows) for name, rows in YEARS[year].items())


def read_table(table: Table, root: Path) -> tuple[Pairs, ...]:
    """STS-B or SICK-R, one split of it: a single subset. Quotation marks are text. Raises: BadData."""
    path = root / table.file
    rows = lines(path)[table.header :]
    check(path, len(rows), table.rows, "rows")
    left, right, gold = [], [], []
    for number, line in enumerate(rows, 1 + table.header):
        row = cells(line, table.columns, path, number)
        left.append(normal(row[table.left]))
        right.append(normal(row[table.right]))
        gold.append(_score(row[table.gold], path, number))
    return (Pairs(path.stem, left, right, gold),)


READERS: Mapping[str, Callable[[Path], tuple[Pairs, ...]]] = {
    **{f"sts{year}": partial(read_year, year) for year in YEARS},
    "stsb": partial(read_table, STSB_TEST),
    "sickr": partial(read_table, SICK_TEST),
    "stsb-dev": partial(read_table, STSB_DEV),
    "sickr-dev": partial(read_table, SICK_DEV),
}


def _read_subset(folder: Path, name: str, rows: Rows) -> Pairs:
    texts, scores = folder / f"STS.input.{name}.txt", folder / f"STS.gs.{name}.txt"
    pairs, ratings = lines(texts), lines(scores)
    check(texts, len(pairs), rows.total, "rows")
    check(scores, len(ratings), rows.total, "rows")  # blank ones count: leaving them out would shift every pair
    left, right, gold = [], [], []
    for number, (line, rating) in enumerate(zip(pairs, ratings, strict=True), 1):
        if rating.strip():
            one, other = cells(line, 2, texts, number)
            left.append(normal(one))
            right.append(normal(other))
            gold.append(_score(rating, scores, number))
    check(scores, len(gold), rows.rated, "scores")
    return Pairs(name, left, right, gold)


def lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Lines end at a line feed alone; what follows the last one is no line. Raises: BadData."""
    try:
        found = read_bytes(path, LONGEST).decode(encoding).split("\n")
    except BadData as error:
        _, _, reason = str(error).partition(" cannot be read: ")
        raise BadData(f"{path} cannot be read ({reason}); {WANTED}" if reason else f"{error}; {WANTED}") from None
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8 at byte {error.start}; use an unmodified copy") from None
    return found if found[-1] else found[:-1]


def cells(line: str, columns: int, path: Path, number: int) -> list[str]:
    """What stands between the tabs of a line. Raises: BadData."""
    found = line.split("\t")
    if len(found) != columns:
        raise BadData(f"{path}, line {number}: tab-separated columns: {len(found)}, expected {columns}")
    return found


def _score(cell: str, path: Path, number: int) -> float:
    try:
        score = float(cell)
    except ValueError:
        score = math.nan
    if not abs(score) <= LARGEST:
        raise BadData(f"{path}, line {number}: {cell[:40]!r} is not a score; a number is expected")
    return score


def normal(sentence: str) -> str:
    """Single blanks for all white space."""
    return " ".join(sentence.split())


def check(path: Path, found: int, expected: int, what: str) -> None:
    """Raises: BadData unless a file has as many rows, scores, ... as it must."""
    if found != expected:
        raise BadData(f"{path} has {found} {what}, expected {expected}; use an unmodified copy")
