"""Recompute the numbers and conclusions of results/ from the archived records, without cseb.

    python -m benchmarks.recompute            # all folders; prints every difference, exit code 1 if there is one
    python -m benchmarks.recompute results/real

Means, standard deviations, bold marks, intervals, p-values and conclusions are computed again with pandas and scipy.
They are compared with the tables (few-shot*.md, few-shot.csv, tasks.md, compare*.md and others), with the tables in
README.md, and with the conclusions and numbers of its sentences, which comments behind them state for this purpose (see
`recomputed_statements` and `recomputed_numbers`).
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, combinations
from pathlib import Path
from statistics import fmean

import numpy as np
import pandas as pd

from benchmarks.recomputed_intervals import check_intervals
from benchmarks.recomputed_numbers import check_numbers, check_table
from benchmarks.recomputed_scores import FEWEST, LEVEL, against, best, dev_scores, records, scores, tasks_of
from benchmarks.recomputed_statements import ROOT, check_statements, named

VERSION = re.compile(r" \([a-z_]+@\d+(?:, [a-z_]+@\d+)*\)$")  # of a row of records of another version
CELL = re.compile(r"\*{0,2}(?P<mean>[+-]?\d+\.\d\d)(?: ± (?P<sd>\d+\.\d\d))?(?P<bold>\*{0,2})(?: \(.*)?")


def tables(text: str) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Return the title above each pipe table, its heads and its rows of cells."""
    title, block = "", []
    for line in [*text.splitlines(), ""]:
        if line.startswith("|"):
            block.append([cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]])
        elif block:
            yield title, block[0], block[2:]
            block = []
        if line.startswith("**"):
            title = line.strip("*").replace("\\", "")


def method_of(cell: str) -> str:
    """Return the method that a row names, without the mark of a note and the version of a part."""
    return VERSION.sub("", cell.removesuffix("†").strip().strip("`"))


def differs(printed: str, value: float) -> bool:
    """Return whether a number with two decimals is not this value."""
    return not abs(float(printed) - value) <= 0.005 + 1e-9  # also where the value is NaN


def check_scores(path: Path, folder: Path) -> Iterator[str]:
    """Return the differences in the tables of scores of a Markdown file."""
    select = "last" if path.stem.endswith("-last") or "best" not in set(records(folder).checkpoint) else "best"
    of_file = path.stem.replace("-", ":").removesuffix(":last")
    for title, escaped, rows in tables(path.read_text("utf-8")):
        checks = {"Dev score by ": check_dev_scores, "Expected best dev score by ": check_expected_best}
        if check := next((check for beginning, check in checks.items() if title.startswith(beginning)), None):
            yield from check(f"{named(path)}, {title}", escaped, rows, folder)
            continue
        where, heads = f"{named(path)}, {title}", [head.replace("\\", "") for head in escaped]
        untrained = title.endswith(", encoders")
        selected = "last" if untrained else select
        sizes = [int(number.replace(",", "")) for number in re.findall(r"\(([\d,]+) sentences?\)", title)]
        for cells in rows:
            name = method_of(cells[0])
            for head, cell in zip(heads[1:], cells[1:], strict=True):
                shown = CELL.fullmatch(cell)
                size = re.match(r"([\d,]+) \(", head)
                if size:
                    at = int(size[1].replace(",", ""))
                    group = (
                        of_file
                        if of_file in GROUPS
                        else "sts"
                        if "average of 7" in title
                        else title.rpartition(", ")[2]
                    )
                    tasks = tasks_of(folder, group if group in GROUPS or tasks_of(folder, group) else "")
                else:
                    at = 0 if untrained else sizes[0] if sizes else 0
                    tasks = _column_tasks(folder, head, heads)
                values = _values(folder, name, at, tasks, selected, cells[0])
                if shown is None or values is None or not len(values):
                    yield f"{where}, {name}, {head}: {cell!r} has no records" if not cell.startswith("--") else ""
                    continue
                deviation = float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
                if differs(shown["mean"], float(np.mean(values))) or differs(shown["sd"] or "0.00", deviation):
                    yield f"{where}, {name}, {head}: {cell}, recomputed {np.mean(values):.2f} ± {deviation:.2f}"
                bold = cell.startswith("**")
                if (
                    not untrained
                    and not VERSION.search(cells[0])
                    and bold != (name in best(folder, tasks, selected, at))
                ):
                    yield f"{where}, {name}, {head}: bold is {bold}"


def check_dev_scores(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], folder: Path) -> Iterator[str]:
    """Return the differences in a table of tuning; the chosen value has the highest score, and is the lowest such."""
    for cell, *cells in rows:
        scores = dev_scores(folder, _size_of(title)).get(method_of(cell), {})
        printed = {value: text for value, text in zip(heads[1:], cells, strict=True) if text != "--"}
        if printed.keys() != scores.keys():
            yield f"{title}, {cell}: values {', '.join(printed)}, tried {', '.join(scores)}"
            continue
        chosen = max(scores, key=lambda value: (scores[value], -float(value)))
        for value, text in printed.items():
            score, number = scores[value], text.strip("*")
            if (number != "collapsed") if score == -np.inf else (number == "collapsed" or differs(number, score)):
                yield f"{title}, {cell}, {value}: {text}, recomputed {score:.2f}"
            if text.startswith("**") != (value == chosen):
                yield f"{title}, {cell}, {value}: bold is {text.startswith('**')}"


def check_expected_best(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]], folder: Path) -> Iterator[str]:
    """Return the differences in a table of expected dev scores: means over all sets of as many values."""
    for cell, *cells in rows:
        scores = dev_scores(folder, _size_of(title)).get(method_of(cell), {})
        for head, text in zip(heads[1:], cells, strict=True):
            drawn = [max(those) for those in combinations(scores.values(), int(head))]
            expected = fmean(drawn) if drawn else -np.inf
            if (text != "--") if expected == -np.inf else (text == "--" or differs(text, expected)):
                yield f"{title}, {cell}, {head}: {text}, recomputed {expected:.2f}"


def _size_of(title: str) -> int:
    """Return the number of sentences at the end of a title."""
    return int(re.findall(r", ([\d,]+) sentences?$", title)[0].replace(",", ""))


GROUPS = ("sts", "transfer", "first16:sts", "first32:sts", "first64:sts", "clinc150", "banking77", "snli", "cr")


def _column_tasks(folder: Path, head: str, heads: Sequence[str]) -> tuple[str, ...]:
    """Return the tasks of a column of a table of tasks: one, or those before an average."""
    if head == "average":
        return tuple(task for name in heads[1 : heads.index(head)] for task in tasks_of(folder, name))
    if head.startswith("average "):
        return tuple(records(folder)[records(folder).protocol == head.removeprefix("average ")].task.unique())
    return tuple(task for task in records(folder).task.unique() if task.partition("@")[0] == head)


def _values(folder: Path, name: str, size: int, tasks: Sequence[str], select: str, label: str) -> np.ndarray | None:
    """Return the scores of a row by seed; untrained encoders are named by encoder and method."""
    if size == 0:
        table = records(folder)
        rows = table[(table["size"] == 0) & table.task.isin(tasks)]
        rows = rows[
            [
                name in (f"{encoder} {method}", encoder)
                for encoder, method in zip(rows.encoder, rows.method, strict=True)
            ]
        ]
        version = re.search(r"@(\d+)\)$", label.strip("`"))
        if len(rows.key.unique()) > 1:  # a row of another version, and one of the installed one
            numbers = rows.version.str.extract(r"@(\d+)$")[0].astype(int)
            rows = rows[numbers == (int(version[1]) if version else numbers.max())]
        return rows.groupby("key").score.mean().to_numpy()
    table = scores(folder, tasks, select)
    values = table.to_numpy()[table.index == (name, size)].ravel()
    return values[~np.isnan(values)] if len(values) else None


def check_comparison(path: Path, folder: Path) -> Iterator[str]:
    """Return the differences in a table of comparisons."""
    for title, _, rows in tables(path.read_text("utf-8")):
        words = re.match(r"Comparison with (.*): .*, (average of \d+ tasks|[\w:-]+), (best|last) checkpoint", title)
        if not words:
            yield f"{named(path)}: the title {title!r} is not one of a comparison"
            continue
        baseline, what, select = words.groups()
        group = ("transfer" if folder.name == "transfer" else "sts") if what.startswith("average") else what
        tasks = tasks_of(folder, group) if group != "sts" or path.stem.endswith("sts") else tasks_of(folder)
        for name, size, difference, interval, p, conclusion in rows:
            where = f"{named(path)}, {name}, {size}"
            pairs = against(folder, tasks, select, int(size.partition(" ")[0].replace(",", "")), baseline)
            pair = pairs.get(method_of(name))
            if pair is None:
                yield f"{where}: no records"
                continue
            reach = pair.interval(LEVEL)
            ends = "--" if reach is None else f"{reach[0]:.2f} to {reach[1]:.2f}"
            shown = interval.split(" to ")
            if differs(difference, pair.mean):
                yield f"{where}: difference {difference}, recomputed {pair.mean:+.2f}"
            if (reach is None) != (interval == "--") or (reach and any(map(differs, shown, reach))):
                yield f"{where}: interval {interval}, recomputed {ends}"
            adjusted = pair.adjusted if pair.n >= FEWEST else None
            text = "--" if adjusted is None else "< 0.001" if adjusted < 0.001 else f"{adjusted:.3f}"
            if p.replace("\\", "") != text:
                yield f"{where}: p {p}, recomputed {text}"
            if (
                conclusion.partition(" in all")[0] != pair.conclusion
                and not (pair.conclusion == "too few seeds" and conclusion.startswith("n = "))
                and conclusion.partition(", by less")[0] != pair.conclusion
            ):
                yield f"{where}: conclusion {conclusion}, recomputed {pair.conclusion}"


def check_csv(path: Path, folder: Path) -> Iterator[str]:
    """Return the differences in a CSV file of scores, in full precision."""
    for row in pd.read_csv(path, keep_default_na=False).to_dict("records"):
        if not row["mean"] or not row["size"]:
            continue
        name = f"{row['row']}" if int(row["size"]) == 0 else method_of(row["method"])
        values = _values(folder, method_of(name), int(row["size"]), row["tasks"].split(), row["select"], row["row"])
        where = f"{named(path)}, {row['row']}, {row['column']}"
        if values is None or len(values) != int(row["n"]):
            yield f"{where}: n is {row['n']}, records {0 if values is None else len(values)}"
            continue
        numbers = {"mean": np.mean(values), "sd": np.std(values, ddof=1) if len(values) > 1 else None}
        for column, value in numbers.items():
            if value is not None and not np.isclose(float(row[column]), value, rtol=1e-9, atol=1e-9):
                yield f"{where}: {column} {row[column]}, recomputed {value!r}"


def check_page(path: Path, folder: Path) -> Iterator[str]:
    """Return `mean ± sd` in the tables of a page that no records give: for the method and the task that a cell names.

    A row names a method of the records or something else, such as "untrained"; a column a task or, say, a size.
    """
    archived = {path.parent for path in (ROOT / "results").rglob("records*.zip.xz")}
    for _, heads, rows in tables(path.read_text("utf-8")):
        yield from check_intervals(path, heads, rows)
        for column, head in enumerate(heads[1:], start=1):
            of_task = [each for each in archived if tasks_of(each, head.lower())]
            known = set().union(*(_cells(each, head.lower() if of_task else "") for each in of_task or archived))
            for cells in rows:
                words = re.match("`(.+?)`", cells[0])
                own = {text for method, text in known if words and method == words[1]} or {text for _, text in known}
                if re.fullmatch(r"\d+\.\d\d ± \d+\.\d\d", cells[column]) and cells[column] not in own:
                    yield f"{named(path)}, {cells[0]}, {head}: no records give {cells[column]}"


@cache
def _cells(folder: Path, task: str) -> frozenset[tuple[str, str]]:
    """Return method and `mean ± sd` at every size and checkpoint: on this task or group, or on all averages."""
    texts = set()
    for select in records(folder).checkpoint.unique():
        single = {name.partition("@")[0] for name in records(folder).task.unique() if ":" in name}
        for names in (task,) if task else ("", *GROUPS, *single):
            if tasks := tasks_of(folder, names):
                table = scores(folder, tasks, select)
                columns = zip(table.index, table.mean(axis=1), table.std(axis=1), strict=True)
                texts |= {(method, f"{m:.2f} ± {s:.2f}") for (method, _), m, s in columns}
    return frozenset(texts)


def check(folder: Path) -> list[str]:
    """Return all differences of a folder."""
    differences: list[str] = []
    archived = any(folder.glob("records*.zip.xz"))
    for path in sorted(folder.iterdir()):
        if path.name == "README.md":
            differences += [
                *check_statements(path, folder),
                *check_numbers(path, folder),
                *check_page(path, folder),
            ]
        elif archived and path.name.startswith("compare") and path.suffix == ".md":
            differences += check_comparison(path, folder)
        elif archived and path.suffix == ".md":
            differences += check_scores(path, folder)
        elif archived and path.suffix == ".csv" and path.read_text("utf-8").startswith("table,"):
            differences += check_csv(path, folder)
    return [difference for difference in differences if difference]


def main(words: Sequence[str]) -> int:
    """Print the differences of folders; return 1 if there are any."""
    results = ROOT / "results"
    folders = [Path(word).resolve() for word in words] or sorted(
        {path.parent for pattern in ("README.md", "records*.zip.xz") for path in results.rglob(pattern)}
    )
    found = [difference for folder in folders for difference in check(folder)]
    readme = ROOT / "README.md"
    if not words:
        checks = (check_statements(readme, results), check_numbers(readme, results), check_table(readme))
        found += chain.from_iterable(checks)
    print("\n".join([*found, f"{len(found)} differences in {len(folders)} folders"]))
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
