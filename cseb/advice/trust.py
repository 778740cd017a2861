"""How far judges without labels can be trusted: measured on records that have human labels as well, never assumed.

A judge that orders the methods which start from a raw encoder may fail where they start from a finished sentence
encoder, whose gains are small and whose losses are large; so each kind of start has figures of its own.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.advice.judges import LABEL_FREE
from cseb.data.weights import MODULES
from cseb.errors import BadBenchmark

FIGURES = Path(__file__).with_name("trust.csv")  # written by benchmarks/judges.py; its rows say from which records
RAW, SENTENCE = "raw", "sentence"  # a start that nobody has trained to embed sentences, and one that somebody has
KINDS = {RAW: "a raw encoder", SENTENCE: "a sentence encoder"}


def kind_of(folder: Path) -> str:
    """Whether the encoder in this folder is a raw one, or was saved as a sentence encoder by sentence-transformers."""
    return SENTENCE if (folder / MODULES).is_file() else RAW


@dataclass(frozen=True, slots=True)
class Measured:
    """Rank correlation of a judge with human labels between methods, and its 95 % interval.

    start: the kind of encoder that the methods began from. human: the tasks it was compared with. methods: how many
    were ranked. origin: encoder, corpora and records.
    """

    start: str
    judge: str
    human: str
    rho: float
    low: float
    high: float
    methods: int
    origin: str

    @property
    def trusted(self) -> bool:
        """Whether the judge has been shown to order methods as people do, rather than by chance."""
        return self.low > 0

    def __str__(self) -> str:
        over = f"of {self.methods} methods that start from {KINDS[self.start]}"
        return f"rank correlation {self.rho:.2f} ({self.low:.2f} to {self.high:.2f}) with {self.human}, {over}"


def measured(start: str, path: Path | None = None) -> dict[str, Measured]:
    """What is known of each judge over all human tasks together, by its name, for methods of this kind of start."""
    with (path or FIGURES).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["human"] == "all" and row["start"] == start]
    return {
        row["judge"]: Measured(
            row["start"],
            row["judge"],
            "human labels",
            float(row["rho"]),
            float(row["low"]),
            float(row["high"]),
            int(row["methods"]),
            row["origin"],
        )
        for row in rows
    }


def best_label_free(known: dict[str, Measured], names: Sequence[str] = tuple(LABEL_FREE)) -> str:
    """The judge without labels that has earned most trust. Raises: BadBenchmark if none has any."""
    trusted = [known[name] for name in names if name in known and known[name].trusted]
    if trusted:
        return max(trusted, key=lambda one: one.low).judge
    found = "; ".join(f"{name}: {known[name]}" for name in names if name in known) or "none was measured"
    raise BadBenchmark(
        f"no advice without a judge: those that need no labels do not order methods as people do ({found}); give "
        "rated pairs with --judge FILE, tasks with --tasks, a better encoder with --teacher, or answer questions with "
        "--ask 60"
    )
