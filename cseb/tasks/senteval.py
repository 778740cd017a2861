"""STS12 to STS16, STS-B and SICK-R, unsupervised, from files in SentEval's layout.

Source: Conneau & Kiela 2018, as the evaluation of Gao et al. 2021 reads them. Both sentences are split at white space
and joined by single spaces; the text is not changed otherwise. Row counts are compared with the manifest, because
shortened copies of these files have led to wrong numbers in published tables.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from cseb.data.bounded import MIB, read_bytes
from cseb.data.files import unpacked
from cseb.data.hub import hub_file
from cseb.data.manifest import ROOTS, DataFile, OnHub, data_sets, files_of, unpacked_at
from cseb.data.tables import LARGEST
from cseb.errors import BadData
from cseb.tasks.pairs import Pairs, RatedPairs
from cseb.words import folded_words

# The files that the papers used. Other copies contain raw text without subsets, which is another protocol.
HUB = data_sets()["stsb"].hub or OnHub("", "")
FOLDERS = ("STS", "SICK", "MR", "CR", "SUBJ", "MPQA", "SST", "TREC", "MRPC")
WANTED = (
    "expected below it: STS/STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt, ..., "
    "STS/STSBenchmark/sts-test.csv, SICK/SICK_test_annotated.txt, MR/rt-polarity.pos, ..., "
    f"as in {HUB.file} of the data set {HUB.repository}"
)


def data_root(data_dir: Path | None) -> Path:
    """Return the folder with STS/, SICK/, MR/, ...; without `data_dir`, that of a download. Raises: BadData."""
    if data_dir is None:
        return _downloaded()
    for root in ROOTS:
        if any(folder in _names(data_dir / root) for folder in FOLDERS):
            return data_dir / root
    names = "/, ".join(FOLDERS)
    raise BadData(f"{data_dir} holds none of {names}/, nor do its folders {', '.join(ROOTS[1:])}; {WANTED}")


def _names(folder: Path) -> set[str]:
    try:
        return {path.name for path in folder.iterdir()}
    except OSError:  # missing, not a folder, or not readable
        return set()


def _downloaded() -> Path:
    try:
        archive = hub_file(HUB.repository, HUB.file)
        return data_root(unpacked(archive, unpacked_at(archive)))
    except BadData as error:
        raise BadData(f"{error}; or name a folder with `data_dir`; {WANTED}") from error


LONGEST = 64 * MIB  # bytes of a file; the largest of the toolkit has 10


# The file of ratings of each subset of a year, in the order of concatenation. SMT, the fourth subset of STS13, may not
# be redistributed and is commonly left out.
YEARS: Mapping[str, Mapping[str, DataFile]] = {
    year: {Path(file.file).stem.removeprefix("STS.gs."): file for file in files_of(f"sts{year}").values() if file.rated}
    for year in ("12", "13", "14", "15", "16")
}


class Table(NamedTuple):
    """A file with both sentences and their score, and the columns of these, from 0."""

    file: DataFile
    left: int
    right: int
    gold: int
    columns: int


TABLES: Mapping[str, Table] = {
    **{
        f"stsb-{part}": Table(files_of("stsb")[f"STS/STSBenchmark/sts-{part}.csv"], 5, 6, 4, 7)
        for part in ("train", "dev", "test")
    },
    "sick-dev": Table(files_of("sick")["SICK/SICK_trial.txt"], 1, 2, 3, 5),
    "sick-test": Table(files_of("sick")["SICK/SICK_test_annotated.txt"], 1, 2, 3, 5),
}


def read_year(year: str, root: Path) -> tuple[Pairs, ...]:
    """Return the subsets of STS12 to STS16, in the order of concatenation. Raises: BadData."""
    folder = root / f"STS/STS{year}-en-test"
    return tuple(_read_subset(folder, name, file) for name, file in YEARS[year].items())


def read_table(table: Table, root: Path) -> tuple[Pairs, ...]:
    """Return one split of STS-B or SICK-R as a single subset. Quotation marks are text. Raises: BadData."""
    path = root / table.file.file
    rows = lines(path)[table.file.header :]
    check(path, len(rows), table.file.rows, "rows")
    left, right, gold = [], [], []
    for number, line in enumerate(rows, 1 + table.file.header):
        row = cells(line, table.columns, path, number)
        left.append(normal(row[table.left]))
        right.append(normal(row[table.right]))
        gold.append(_score(row[table.gold], path, number))
    return (Pairs(path.stem, left, right, gold),)


def read_clean_dev(root: Path) -> tuple[Pairs, ...]:
    """Return the pairs of STS-B dev that are not in STS12 to STS16, where most of them are from. Raises: BadData."""
    [dev] = read_table(TABLES["stsb-dev"], root)
    return (_without(dev, [subset for year in YEARS for subset in read_year(year, root)]),)


def read_dev(root: Path) -> tuple[Pairs, ...]:
    """Return the pairs of STS-B dev and SICK-R dev that are in none of the seven test sets.

    Ratings of SICK, 1 to 5, get the scale of the others, 0 to 5. Raises: BadData.
    """
    tests = [read_table(TABLES[f"{name}-test"], root)[0] for name in ("stsb", "sick")]
    [dev], [sick] = (read_table(TABLES[f"{name}-dev"], root) for name in ("stsb", "sick"))
    sick = replace(sick, gold=[(gold - 1) * 5 / 4 for gold in sick.gold])
    tests += [subset for year in YEARS for subset in read_year(year, root)]
    return (_without(dev, tests), _without(sick, tests))


def _without(pairs: Pairs, tests: Sequence[Pairs]) -> Pairs:
    """Return the pairs whose words, in either order of the two sentences, are not in the test sets."""
    tested = {pair for each in tests for pair in _words(each)}
    kept = [row for row, (left, right) in enumerate(_words(pairs)) if not {(left, right), (right, left)} & tested]
    left, right = ([side[row] for row in kept] for side in (pairs.left, pairs.right))
    return Pairs(pairs.name, left, right, [pairs.gold[row] for row in kept])


def _words(pairs: Pairs) -> Iterator[tuple[str, str]]:
    return zip(map(_letters, pairs.left), map(_letters, pairs.right), strict=True)


def _letters(sentence: str) -> str:
    return "".join(folded_words(sentence))


READERS: Mapping[str, Callable[[Path], tuple[Pairs, ...]]] = {
    **{f"sts{year}": partial(read_year, year) for year in YEARS},
    "stsb": partial(read_table, TABLES["stsb-test"]),
    "sickr": partial(read_table, TABLES["sick-test"]),
    "stsb-dev": partial(read_table, TABLES["stsb-dev"]),
    "sickr-dev": partial(read_table, TABLES["sick-dev"]),
    "stsb-dev-clean": read_clean_dev,
    "sts-dev": read_dev,
}


def _read_subset(folder: Path, name: str, file: DataFile) -> Pairs:
    texts, scores = folder / f"STS.input.{name}.txt", folder / f"STS.gs.{name}.txt"
    pairs, ratings = lines(texts), lines(scores)
    check(texts, len(pairs), file.rows, "rows")
    check(scores, len(ratings), file.rows, "rows")  # blank ones count: leaving them out would shift every pair
    left, right, gold = [], [], []
    for number, (line, rating) in enumerate(zip(pairs, ratings, strict=True), 1):
        if rating.strip():
            first, second = cells(line, 2, texts, number)
            left.append(normal(first))
            right.append(normal(second))
            gold.append(_score(rating, scores, number))
    check(scores, len(gold), file.rated or 0, "scores")  # rows without a rating are dropped
    return Pairs(name, left, right, gold)


def lines(path: Path, encoding: str = "utf-8") -> list[str]:
    """Return the lines of a file, which end at line feeds only. Raises: BadData."""
    try:
        rows = read_bytes(path, LONGEST).decode(encoding).split("\n")
    except BadData as error:
        _, _, reason = str(error).partition(" cannot be read: ")
        raise BadData(f"{path} cannot be read ({reason}); {WANTED}" if reason else f"{error}; {WANTED}") from None
    except UnicodeDecodeError as error:
        raise BadData(f"{path} is not UTF-8 at byte {error.start}; use an unmodified copy") from None
    return rows if rows[-1] else rows[:-1]


def cells(line: str, columns: int, path: Path, number: int) -> list[str]:
    """Return the tab-separated cells of a line. Raises: BadData."""
    parts = line.split("\t")
    if len(parts) != columns:
        raise BadData(f"{path}, line {number}: tab-separated columns: {len(parts)}, expected {columns}")
    return parts


def _score(cell: str, path: Path, number: int) -> float:
    try:
        score = float(cell)
    except ValueError:
        score = math.nan
    if not abs(score) <= LARGEST:
        raise BadData(f"{path}, line {number}: {cell[:40]!r} is not a score; a number is expected")
    return score


def normal(sentence: str) -> str:
    """Return the sentence with single spaces for white space."""
    return " ".join(sentence.split())


def check(path: Path, count: int, expected: int, what: str) -> None:
    """Compare a number of rows or scores with that of the unmodified file. Raises: BadData."""
    if count != expected:
        raise BadData(f"{path} has {count} {what}, expected {expected}; use an unmodified copy")


@dataclass(frozen=True, slots=True)
class STS:
    """Pairs rated by humans, scored by the rank correlation of cosines and ratings.

    Source: SemEval 2012 to 2017 and Marelli et al. 2014, in the setting of Gao et al. 2021, appendix B: the test split
    only, subsets of a year ranked together. These are not the supervised tasks of the original SentEval. The tasks of
    these names in mteb have the raw texts, so that scores differ: `mteb:STSBenchmark` is mteb's. `stsb-dev-clean` is
    `stsb-dev` without the pairs that are in `sts12` to `sts16`. `sts-dev` has the pairs of
    `stsb-dev` and `sickr-dev` that are in none of the seven test sets, ranked together.
    """

    name: str
    version: int = 1
    protocol: str = "simcse-sts@1"

    def load(self, data_dir: Path | None) -> RatedPairs:
        """Return the checked files; without `data_dir`, fetch the same ones from the hub. Raises: BadData."""
        return RatedPairs(READERS[self.name](data_root(data_dir)))


STS12, STS13, STS14, STS15, STS16, STSB, SICKR, STSB_DEV, SICKR_DEV, STSB_DEV_CLEAN, STS_DEV = map(STS, READERS)
