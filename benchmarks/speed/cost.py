"""What a job of the demo costs with each method: CPU seconds, their ratio to simcse, peak memory.

    python benchmarks/speed/cost.py [METHOD ...]

Methods: all, or those named; simcse is measured in every run, and ratios are to that one. Each job (0.1 % of the
sentences or 100 triples, one seed) has a process of its own. Rows of results/microworld/cost.csv are replaced or added;
benchmarks/methods.py makes tables of them.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from cseb.methods.grammar import parse_method
from cseb.records.record import Record
from cseb.records.store import Store
from cseb.registry import METHODS

DEMO = Path("results") / "microworld"
FIELDS = ("trained_on", "method", "cpu_seconds", "to_simcse", "peak_mb")
TRIPLES = ("--corpus", "microworld:triples:5000", "--sizes", "100")
CORPORA: dict[str, tuple[str, ...]] = {"sentences": ("--fractions", "0.001"), "triples": TRIPLES}


def every_method() -> list[str]:
    """Methods as the demo's table has them, then those it has not."""
    with (DEMO / "few-shot.csv").open(encoding="utf-8", newline="") as stream:
        shown = list(dict.fromkeys(row["method"] for row in csv.DictReader(stream)))
    forms = {text.partition("+")[0] for text in shown}
    return [*shown, *(name for name in METHODS if name not in forms)]


def measured(method: str, trained_on: str) -> Record:
    """The record of one job in a process of its own. Raises: CalledProcessError."""
    with TemporaryDirectory() as folder:
        words = (
            "run",
            "microworld",
            "--methods",
            method,
            "--seeds",
            "1",
            "--workers",
            "1",
            "--device",
            "cpu",
            "--quiet",
        )
        command = [sys.executable, "-m", "cseb", *words, *CORPORA[trained_on], "--results", folder]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        (record,) = Store(Path(folder)).load()[0]
        return record


def main() -> None:
    """Measure, and write the file after every job."""
    asked = sys.argv[1:] or every_method()
    on = {method: "triples" if "labels" in parse_method(method).data_seen() else "sentences" for method in asked}
    with (DEMO / "cost.csv").open(encoding="utf-8", newline="") as stream:
        rows = {(row["trained_on"], row["method"]): row for row in csv.DictReader(stream)}
    for corpus in sorted(set(on.values())):
        least = 0.0
        for method in ["simcse", *(method for method in asked if on[method] == corpus and method != "simcse")]:
            record = measured(method, corpus)
            seconds = record.cost.cpu_seconds
            assert seconds, f"{method}: the record holds no CPU seconds"
            least = least or seconds
            found = (corpus, method, f"{seconds:.1f}", f"{seconds / least:.2f}", f"{record.cost.peak_rss_mb:.0f}")
            if method != "simcse" or not sys.argv[1:]:  # a few more rows leave that of the others alone
                rows[corpus, method] = dict(zip(FIELDS, found, strict=True))
            print(*found)
            with (DEMO / "cost.csv").open("w", encoding="utf-8", newline="") as stream:
                writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows.values())


if __name__ == "__main__":
    main()
