"""Numbers in the sentences of a page and in README's table, compared with the archived records; see `recompute`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd

from benchmarks.recomputed_scores import records, scores, tasks_of
from benchmarks.recomputed_statements import P_VALUES, ROOT, named

RESULTS = ROOT / "results"
COMMENT = re.compile(r"<!-- (.*?) -->", re.DOTALL)
STATED = re.compile(r"(< )?(-?\d+(?:\.\d+)?)(?: to (-?\d+(?:\.\d+)?))?: (.*)", re.DOTALL)
OTHER = re.compile(r"not recomputed: ([\d., ]+); ")
DECIMAL = re.compile(r"(?<![\w.,])\d+\.\d+(?![\w.]*\w)")
NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
WORDS = {name: str(number) for number, name in enumerate(NAMES, 1)}
_WHOLE = rf"(?<![\w.,])(\d+|{'|'.join(WORDS)})"
POINTS = re.compile(rf"{_WHOLE}(?:\s(?:to|and|or)\s{_WHOLE})?\spoints?\b")
LIST = re.compile(r",(?![^(]*\))")  # a comma outside parentheses


@dataclass(frozen=True)
class Number:
    """A number that a sentence has, or the lowest and highest of several, in a comment in the same paragraph.

    `<!-- 63.2: simcse; 10000 -->`: the mean of SimCSE's seeds. `<!-- 1.4 to 1.9: msse,crops - mean; 1000,10000 -->`:
    differences of means, of either method at either size. `<!-- < 0.1: crops - mean; 100 -->`: nearer to 0 than that.
    A number behind the minus compares each method with itself at that size. Size 0 is an untrained encoder or words
    alone, as `cseb eval` scores them: the mean over all that match. `*` stands for any characters. `folder=PATH` (also
    of several folders), `tasks=NAME` and `select=last` replace the folder of the page, its first protocol and the best
    checkpoint; `than=PATH` and `than_tasks=NAME` do so for what is subtracted. `seed=1` is the score of one run.
    """

    low: str
    high: str
    bound: bool
    left: tuple[str, ...]
    right: str
    sizes: tuple[int, ...]
    options: dict[str, str]

    @classmethod
    def read(cls, text: str) -> Number | None:
        """Return the number of a comment; None if it states none. Raises: ValueError."""
        if (found := STATED.fullmatch(text)) is None:
            return None
        methods, sizes, *options = (part.strip() for part in found[4].split(";"))
        left, _, right = methods.partition(" - ")
        names = tuple(name.strip() for name in LIST.split(left))
        numbers = tuple(int(size) for size in sizes.split(","))
        low, high, given = found[2], found[3] or found[2], dict(part.split("=", 1) for part in options)
        return cls(low, high, bool(found[1]), names, right, numbers, given)

    def wrong(self, folder: Path) -> str:
        """Return how the number differs from the records; "" if it does not."""
        folders = sorted(ROOT.glob(self.options["folder"])) if "folder" in self.options else [folder]
        values: list[float] = []
        for of, size, name in product((each for each in folders if each.is_dir()), self.sizes, self.left):
            scores = [
                score - base
                for method, score in self._means(of, name, size, self.options.get("tasks", ""))
                for base in self._bases(of, method, size)
            ]
            if not scores:
                return f"{name} or what is subtracted has no records with {size} sentences"
            values += scores
        if not values:
            return "there is no such folder"
        if self.bound:
            right = max(map(abs, values)) < float(self.high)
        else:
            right = _rounds(self.low, min(values)) and _rounds(self.high, max(values))
        if right:
            return ""
        stated = f"less than {self.high}" if self.bound else f"{self.low} to {self.high}"
        return f"{stated}, recomputed {min(values):.3f} to {max(values):.3f}"

    def _bases(self, folder: Path, method: str, size: int) -> list[float]:
        """Return what is subtracted from the score of a method, 0 for nothing."""
        if not self.right:
            return [0.0]
        tasks = self.options.get("than_tasks", self.options.get("tasks", ""))
        if self.right.isdigit():
            return [base for _, base in self._means(folder, method, int(self.right), tasks)]
        other = ROOT / self.options["than"] if "than" in self.options else folder
        trained = any(fnmatchcase(name, self.right) for name, _ in self._trained(other, tasks))
        return [base for _, base in self._means(other, self.right, size if trained else 0, tasks)]

    def _trained(self, folder: Path, tasks: str) -> dict[tuple[str, int], float]:
        return _table(folder, tasks_of(folder, tasks), self.options.get("select", "best"), self.options.get("seed", ""))

    def _means(self, folder: Path, name: str, size: int, tasks: str) -> list[tuple[str, float]]:
        if size == 0:
            value = _untrained(folder, name, tasks_of(folder, tasks))
            return [] if value is None else [(name, value)]
        table = self._trained(folder, tasks)
        return [(method, table[method, at]) for method, at in table if at == size and fnmatchcase(method, name)]


@cache
def _table(folder: Path, tasks: tuple[str, ...], select: str, seed: str = "") -> dict[tuple[str, int], float]:
    """Return the mean over seeds, or the score of one, by method and size."""
    if not tasks:
        return {}
    table = scores(folder, tasks, select)
    return dict(table[int(seed)].dropna() if seed else table.mean(axis=1))


@cache
def _untrained(folder: Path, name: str, tasks: tuple[str, ...]) -> float | None:
    """Return the mean over the encoders without training whose name, or name and method, match."""
    table = records(folder)
    rows = table[(table["size"] == 0) & table.task.isin(tasks)]
    texts = zip(rows.encoder, rows.encoder + " " + rows.method, strict=True)
    matches = [any(fnmatchcase(text, name) for text in each) for each in texts]
    return float(rows[matches].groupby("key").score.mean().mean()) if any(matches) else None


def _rounds(printed: str, value: float) -> bool:
    places = len(printed.partition(".")[2])
    return abs(float(printed) - value) <= 0.5 * 10.0**-places + 1e-9


def check_numbers(path: Path, folder: Path) -> Iterator[str]:
    """Return numbers that the records do not give, and decimal numbers and points of sentences without a comment.

    Sentences are those of a result: above the setup of a page, and between a result and "Add your method" in README.
    `<!-- not recomputed: 75.0; the papers report it -->` names numbers of another source.
    """
    text = path.read_text("utf-8").partition("\n## Setup")[0]
    if path.parent == ROOT:
        text = text.partition("\n## A result")[2].partition("\n## Add your method")[0]
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for paragraph in re.split(r"\n(?=- |\n)", text):
        known: set[str] = set()
        where = f"{named(path)}, {' '.join(paragraph.split())[:60]!r}"
        for comment in map(" ".join, map(str.split, COMMENT.findall(paragraph))):
            if other := OTHER.match(comment):
                known |= set(re.findall(r"[\d.]+\d", other[1]))
            elif number := Number.read(comment):
                known |= {number.low.lstrip("-"), number.high.lstrip("-")}
                if wrong := number.wrong(folder):
                    yield f"{where}: {comment}: {wrong}"
        lines = COMMENT.sub("", paragraph).splitlines()
        sentences = re.sub(r"`[^`]*`|\]\([^)]*\)", "", "\n".join(line for line in lines if not line.startswith("|")))
        sentences = P_VALUES.sub("", sentences)  # `check_statements` has them
        points = {WORDS.get(number, number) for pair in POINTS.findall(sentences) for number in pair if number}
        for printed in [*DECIMAL.findall(sentences), *sorted(points)]:
            if printed not in known:
                yield f"{where}: {printed} has no comment that says how it is computed"


# README's table: the method of a row; "" for TF-IDF, whose document frequencies come from as many sentences.
ROWS = {
    "untrained, [CLS]": "cls",
    "untrained, mean": "mean",
    "untrained, mean of first and last layer": "first_last",
    "SIF (no training)": "sif",
    "SimCSE, mean": "simcse+mean",
    "SimCSE, [CLS]": "simcse",
    "the same with mined negatives": "simcse+mined_negatives+recipe(batch='no_duplicates')",
    "miCSE, [CLS]": "micse",
    "MSSE, mask token": "msse",
    "TF-IDF, IDF from the same sentences": "",
}
# Its columns: training set size and folders; the first that has a method counts. The last has what papers report.
COLUMNS = (
    (100, ("real-mini",)),
    (1000, ("real-mini",)),
    (10_000, ("real-mini",)),
    (10_000, ("tuned", "real")),
    (10_000, ("steps/gpu", "steps/cpu")),
)
UNTRAINED = ("cls", "mean", "first_last", "sif")  # the same after any number of steps, so `tuned` has them, too
REPORTED = RESULTS.parent / "benchmarks" / "published" / "scores.csv"


def check_table(path: Path) -> Iterator[str]:
    """Return the cells of README's table that differ from the records, and from what the papers print."""
    lines = [line.strip("|").split("|") for line in path.read_text("utf-8").splitlines() if line.startswith("| ")]
    rows = {name: cells for name, *cells in ([cell.strip() for cell in line] for line in lines)}
    for name, method in ROWS.items():
        expected = [*(_cell(method, size, folders) for size, folders in COLUMNS), _reported(method)]
        if rows.get(name) != expected:
            yield f"{named(path)}, {name}: {rows.get(name)}, recomputed {expected}"


def _cell(method: str, size: int, folders: Sequence[str]) -> str:
    if not method:
        folder = RESULTS / "tuned" / "tf-idf"
        return f"{_untrained(folder, f'words:tf-idf:wiki1m-{size}-*', tasks_of(folder)):.1f}"
    for folder in (RESULTS / name for name in (*folders, *(["tuned"] if method in UNTRAINED else []))):
        table = _table(folder, tasks_of(folder), "best")
        if (method, size) in table:
            return f"{table[method, size]:.1f}"
    return ""


def _reported(method: str) -> str:
    """Return the score of BERT-base that the paper with the first table of a method reports, with 1 % of its corpus."""
    table = pd.read_csv(REPORTED, keep_default_na=False)
    rows = table[(table.cseb_method == method) & (table.variant == "") & (table.encoder == "bert-base")]
    rows = rows[(rows.task == "sts-avg") & rows.fraction.isin(["", "0.01"]) & (rows.setting != "supervised")]
    return f"{float(rows['mean'].iloc[0]):.1f}" if len(rows) else ""
