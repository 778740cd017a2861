"""How far judges without labels can be trusted: measured on records that have human labels as well, never assumed."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cseb.advice.judges import LABEL_FREE
from cseb.errors import BadBenchmark

FIGURES = Path(__file__).with_name("trust.csv")  # written by benchmarks/judges.py; its rows say from which records


@dataclass(frozen=True, slots=True)
class Measured:
    """Rank correlation of a judge with human labels between methods, and its 95 % interval.

    human: the tasks it was compared with. methods: how many were ranked. origin: encoder, corpora and records.
    """

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
        return f"rank correlation {self.rho:.2f} ({self.low:.2f} to {self.high:.2f}) with {self.human}"


def measured(path: Path = FIGURES) -> dict[str, Measured]:
    """What is known of each judge over all human tasks together, by its name."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["human"] == "all"]
    return {
        row["judge"]: Measured(
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
