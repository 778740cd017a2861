"""The table of scores in results/real/README.md: every row of few-shot.csv, the best with 1,000 sentences first.

Run it in the root of the repository after few-shot.csv has changed: python -m benchmarks.real_table
"""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.marked import with_table
from cseb.methods.grammar import parse_method

README = Path(__file__).parents[1] / "results" / "real" / "README.md"
MARKER = "scores, by benchmarks/real_table.py"
ORDER, SEEDS = 1_000, 5  # sentences by whose scores rows are sorted; how many seeds a row has if nothing is said
NEAR = 5e-3  # points: no spread is shown below it, nothing was trained
TEACHER = re.compile(r"\+outside_teacher\(encoder='[^']*/([^'/]+)'\)$")
VECTORS = {
    "cls": "[CLS]",
    "mean": "mean",
    "padded_mean": "mean, padding too",
    "mean_last": "mean",
    "first_last": "mean of first and last layer",
    "mask_prompt": "mask token",
    "cnn_mean": "mean of convolutions",
    "pseudo_tokens": "mean of pseudo tokens",
    "sif": "weighted mean, common direction out",
}


class Cell(NamedTuple):
    """Average of the seven sets over n seeds, in points. sd: None for one seed."""

    mean: float
    sd: float | None
    n: int

    def __str__(self) -> str:
        seeds = "" if self.n == SEEDS else f" ({self.n} seed{'s' if self.n > 1 else ''})"
        spread = f" ± {self.sd:.2f}" if self.sd and self.sd > NEAR else ""
        return f"{self.mean:.2f}{spread}{seeds}"


def cells(file: Path) -> Mapping[str, Mapping[int, Cell]]:
    """By row and number of sentences, the checkpoint that the dev set chose."""
    found: defaultdict[str, dict[int, Cell]] = defaultdict(dict)
    with file.open(encoding="utf-8", newline="") as stream:
        for row in csv.DictReader(stream):
            if row["select"] == "best" and row["mean"]:
                sd = float(row["sd"]) if row["sd"] else None
                found[row["row"]][int(row["size"])] = Cell(float(row["mean"]), sd, int(row["n"]))
    return found


def vector(label: str) -> str:
    """What of the encoder's output is the sentence's vector in tests."""
    return VECTORS[parse_method(label).at(1.0).pooler.name]


def table(file: Path) -> str:
    """Markdown: a row for each method, a column for each number of sentences."""
    found = cells(file)
    sizes = sorted({size for row in found.values() for size in row})
    lines = [f"| method | vector | {' | '.join(f'{size:,}' for size in sizes)} |", f"|{' --- |' * (len(sizes) + 2)}"]
    for label in sorted(found, key=lambda label: -found[label][ORDER].mean):
        shown = TEACHER.sub(r"`, \1 as teacher", label)
        scores = [str(found[label][size]) if size in found[label] else "" for size in sizes]
        lines.append(f"| `{shown}{'' if ' as teacher' in shown else '`'} | {vector(label)} | {' | '.join(scores)} |")
    return "\n".join(lines)


def replaced(text: str, folder: Path) -> str:
    """`text` with a fresh table of the folder between the markers."""
    return with_table(text, MARKER, table(folder / "few-shot.csv"))


def main() -> None:
    """Write the table anew."""
    README.write_text(replaced(README.read_text(encoding="utf-8"), README.parent), encoding="utf-8")


if __name__ == "__main__":
    main()
