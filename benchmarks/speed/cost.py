"""What a job costs with each method: CPU seconds, their ratio to SimCSE's in the same benchmark, peak memory.

    python -m benchmarks.speed.cost SETTING [METHOD ...] [--data-dir FOLDER]

SETTING is one of SETTINGS. METHOD: by default all that the file has of it. Each job (one seed) has a process and a
thread of its own, one after the other; SimCSE's is measured in every run, and ratios are to that one. Rows of
results/speed/cost.csv are replaced or added; benchmarks/methods.py makes tables of them.

Files that a benchmark reads, such as labelled/triples.jsonl, must be there: its page in results/ says how to make them.
"""

from __future__ import annotations

import argparse
import csv
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cseb.experiment.benchmark import load, text
from cseb.records.record import Record
from cseb.records.store import Store

KEPT = Path("results") / "speed" / "cost.csv"
FIELDS = ("setting", "method", "cpu_seconds", "to_simcse", "peak_mb")
ONE_JOB = ("--seeds", "1", "--workers", "1", "--device", "cpu", "--quiet")


@dataclass(frozen=True, slots=True)
class Setting:
    """A benchmark, what of it is one job, and its form of SimCSE."""

    benchmark: str
    options: tuple[str, ...]
    simcse: str = "simcse"


SETTINGS: dict[str, Setting] = {
    "demo": Setting("demo", ("--sizes", "100")),
    "embedded": Setting("embedded", ("--sizes", "1000")),
    "embedded-written": Setting(
        "embedded",
        (
            *("--corpus", "generated:results/written/triples.jsonl.gz", "--sizes", "1000"),
            *("--column", "anchor=sent0,positive=sent1,negative=hard_neg"),
        ),
    ),
    "triples": Setting("triples", ("--sizes", "1000")),
    "rated-pairs": Setting("rated-pairs", ("--sizes", "1000"), "simcse+mean"),
    "documents": Setting("documents", ("--sizes", "1000"), "simcse+mean"),
    "decoder-bidirectional": Setting("decoder-bidirectional", ("--sizes", "1000"), "simcse+mean+recipe(dropout=0.3)"),
}


def rows() -> list[dict[str, str]]:
    """What is kept."""
    with KEPT.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def measured(method: str, setting: Setting, more: Sequence[str]) -> Record:
    """The record of one job, without tuning, in a process of its own. Raises: CalledProcessError."""
    with TemporaryDirectory() as folder:
        untuned = Path(folder) / "untuned.yaml"
        untuned.write_text(text(load(setting.benchmark).model_copy(update={"tune": None})), encoding="utf-8")
        words = ("run", str(untuned), "--methods", method, *setting.options, *ONE_JOB, *more)
        command = [sys.executable, "-m", "cseb", *words, "--results", folder]
        subprocess.run(command, check=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
        (record,) = Store(Path(folder)).load()[0]
        return record


def main() -> None:
    """Measure, and write the file after every job."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("setting", choices=SETTINGS)
    parser.add_argument("methods", nargs="*", metavar="METHOD")
    parser.add_argument("--data-dir", metavar="FOLDER", help="SentEval's files, where the benchmark reads them")
    asked = parser.parse_args()
    setting, more = SETTINGS[asked.setting], ("--data-dir", asked.data_dir) if asked.data_dir else ()
    kept = {(row["setting"], row["method"]): row for row in rows()}
    known = [method for one, method in kept if one == asked.setting]
    others = [method for method in asked.methods or known if method != setting.simcse]
    least = 0.0
    for method in (setting.simcse, *others):
        record = measured(method, setting, more)
        seconds = record.cost.cpu_seconds
        assert seconds, f"{method}: the record holds no CPU seconds"
        least = least or seconds
        found = (asked.setting, method, f"{seconds:.1f}", f"{seconds / least:.2f}", f"{record.cost.peak_rss_mb:.0f}")
        here = (asked.setting, method)
        if method != setting.simcse or not asked.methods or here not in kept:  # else it is that of the others' ratios
            kept[here] = dict(zip(FIELDS, found, strict=True))
        print(*found, flush=True)
        with KEPT.open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, FIELDS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(kept.values())


if __name__ == "__main__":
    main()
