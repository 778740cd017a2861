"""Which orderings of the papers hold here: the table in results/microworld/README.md.

Both numbers of a printed difference stand in one table of one paper, for one encoder and one share. Ours are paired by
seed; points of every seed come from few-shot.csv and triples.csv in the same folder (`cseb report --format csv`). Run
it in the root of the repository after one of these has changed: python -m benchmarks.orderings
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.marked import with_table
from cseb.papers.scores import own_rows
from cseb.statistics.intervals import t_interval

ROOT = Path(__file__).parents[1]
FOLDERS = (ROOT / "results" / "microworld",)
FILES = ("few-shot.csv", "triples.csv")
MARKER = "orderings, by benchmarks/orderings.py"
BASELINE = "simcse"
MINILM = "outside_teacher(encoder='sentence-transformers/all-MiniLM-L6-v2')"
TAUGHT = ("distil-l2", "distil-mse", "distil-relational", "skd", "congen", "sct")
# What a method is held against where that is in the table too, else the baseline.
BASES = {
    "ct+ami": "ct",
    "mirror+ami": "mirror",
    "mirror-avg+ami": "mirror-avg",
    "informin-cl-mlm": "informin-cl",
    "bert-whitening": "first_last",
    "bert-flow": "first_last",
    **dict.fromkeys(("rcl", "rcl-literal"), "continued"),
    **dict.fromkeys(("crops", "declutr-sentence", "simcse+mean+mix(share=0.5)"), "simcse+mean"),  # all pool by the mean
    **{f"{method}+{MINILM}": "simcse+mean" for method in TAUGHT},
}

# What papers print under a method with options of its own, which the demo's one size takes away.
ALIKE = {"simcse+moco": "micse-ami"}

Points = Mapping[tuple[str, float], Mapping[int, float]]


def points(path: Path) -> Points:
    """By method and share the points of each seed, checkpoint chosen by the dev set; none where the file is missing."""
    if not path.is_file():
        return {}
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["select"] == "best" and row["values"]]
    seeds = ((row, (pair.split(":") for pair in row["values"].split())) for row in rows)
    return {
        (row["row"], float(row["fraction"])): {int(seed): float(value) for seed, value in pairs} for row, pairs in seeds
    }


def verdict(above: Mapping[int, float], below: Mapping[int, float]) -> str:
    """Mean difference over common seeds, its 95 % t interval, and whether that leaves 0 out; "" below three seeds."""
    common = sorted(above.keys() & below.keys())
    if len(common) < 3:
        return ""
    found = t_interval(np.array([above[seed] - below[seed] for seed in common]))
    half = (found.high - found.low) / 2
    middle = (found.high + found.low) / 2
    said = "yes" if found.low > 0 else "no, the reverse" if found.high < 0 else "open"
    return f"{said} ({middle:+.2f} ± {half:.2f})"


def printed(method: str, base: str) -> str:
    """Lowest and highest printed difference of the averages over the STS tasks, and the papers; "" if there is none."""
    method = ALIKE.get(method, method)
    averages = {
        name: {
            (row.paper, row.table, row.encoder, row.fraction): row for row in own_rows(name) if row.task == "sts-avg"
        }
        for name in (method, base)
    }
    common = averages[method].keys() & averages[base].keys()
    found = sorted(averages[method][each].mean - averages[base][each].mean for each in common)
    if not found:
        return ""
    said = f"{found[0]:+.2f}" + (f" to {found[-1]:+.2f}" if len(found) > 1 else "")
    return f"{said} ({', '.join(sorted({each[0] for each in common}))})"


def table(folder: Path) -> str:
    """Markdown: a row for each method held against another one, a column for each share."""
    return "\n".join(_lines([points(folder / file) for file in FILES]))


def _lines(files: Sequence[Points]) -> Iterator[str]:
    shares = [sorted({share for _, share in found}) for found in files]
    columns = max(map(len, shares))
    heads = ["here"] if columns < 2 else ["smallest share", *[""] * (columns - 2), "largest"]
    yield f"| method | against | printed | {' | '.join(heads)} |"
    yield f"| {' | '.join(['---'] * (columns + 3))} |"
    for found, own in zip(files, shares, strict=True):
        for method in dict.fromkeys(name for name, _ in found):
            base = BASES.get(method, BASELINE)
            base = base if any(base == name for name, _ in found) else BASELINE
            cells = [verdict(found.get((method, x), {}), found.get((base, x), {})) for x in own]
            if method != base and any(cells):
                cells += [""] * (columns - len(cells))
                yield f"| `{method}` | `{base}` | {printed(method, base) or '--'} | {' | '.join(cells)} |"


def replaced(text: str, folder: Path) -> str:
    """`text` with a fresh table of the folder between the markers."""
    return with_table(text, MARKER, table(folder))


def main() -> None:
    """Write the tables anew."""
    for folder in FOLDERS:
        readme = folder / "README.md"
        readme.write_text(replaced(readme.read_text(encoding="utf-8"), folder), encoding="utf-8")


if __name__ == "__main__":
    main()
