"""The learning rate of each method in a benchmark on real text: the best of four on STS-B dev, the same four for all.

    python -m benchmarks.rates run METHOD[,METHOD] --records FOLDER --data-dir DATA [--workers 2] [--benchmark real]
    python -m benchmarks.rates read --records FOLDER [--benchmark real]

`run` trains each method with each rate as the benchmark does, but in 120 steps, for 1,000 sentences and two seeds, and
without a look at a test set; it goes on where it was stopped. `read` adds what it finds to results/real/rates.csv and
prints the chosen rates as `per_method` of real.yaml has them. So it is for every benchmark in BENCHMARKS.
"""

from __future__ import annotations

import argparse
import csv
import math
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import fmean

from cseb.commands.application import app
from cseb.experiment import benchmark as benchmarks
from cseb.experiment.benchmark import Benchmark
from cseb.methods.grammar import labels
from cseb.records.store import Store

BENCHMARKS = (
    *("real", "real-mini", "rated-pairs", "triples", "documents", "written"),
    *("decoder", "decoder-bidirectional"),
)
HEAD = ("method", "learning_rate", "seed", "stsb_dev", "key")
COLLAPSED = "collapsed"  # in place of a score
SIZE, SEEDS = 1000, 2
SHORTER = "recipe(steps=120, warmup=12, eval_every=30)"
RATES = (1e-4, 3e-4, 1e-3, 3e-3)
TRIED = re.compile(r"(?P<method>.+)\+recipe\(learning_rate=(?P<rate>[^,)]+)\)")


@dataclass(frozen=True, slots=True)
class Trial:
    """One seed of one method with one rate. dev: Spearman x 100 on STS-B dev after the last step; None if collapsed."""

    method: str
    rate: float
    seed: int
    dev: float | None
    key: str


def trials_of(name: str, methods: str) -> Benchmark:
    """The grid of trials of these methods: the benchmark's own but for its steps, sizes, seeds and tasks."""
    whole = benchmarks.load(name)
    return benchmarks.override(
        whole,
        name=f"{name}-rates",
        description=f"Learning rates for the benchmark {name}, chosen on {whole.dev}.",
        methods=specs(labels(methods)),
        sizes=[SIZE],
        seeds=SEEDS,
        tasks=whole.dev,
        dev="none",
        scale=f"{whole.scale}, {SHORTER}",
        per_method={},
        check={},
        notes=__doc__,
    )


def table_of(benchmark: str) -> Path:
    """Every trial there has been."""
    return Path(__file__).parents[1] / "results" / benchmark / "rates.csv"


def specs(methods: Iterable[str]) -> list[str]:
    """Each method with each rate."""
    return [f"{method}+recipe(learning_rate={rate:g})" for method in methods for rate in RATES]


def read(store: Store) -> list[Trial]:
    """What has been tried."""
    records, _ = store.load()
    found = [
        Trial(tried["method"], float(tried["rate"]), record.seed, record.scores[0].value, record.key)
        for record in records
        if (tried := TRIED.fullmatch(record.method))
    ]
    return sorted(found, key=lambda trial: (trial.method, trial.rate, trial.seed))


def chosen(trials: Iterable[Trial]) -> dict[str, float]:
    """By method the rate of the highest mean over seeds, the lower one of equals; none before all have been tried.

    A rate with which a seed collapsed is below all others.
    """
    by_rate: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        by_rate[trial.method][trial.rate].append(-math.inf if trial.dev is None else trial.dev)
    return {
        method: max(RATES, key=lambda rate: fmean(rates[rate]))
        for method, rates in sorted(by_rate.items())
        if all(len(rates[rate]) == SEEDS for rate in RATES)
    }


def edit(rate: float) -> str:
    """The rate as real.yaml has it."""
    return f"recipe(learning_rate={rate:.0e})".replace("e-0", "e-")


def merged(table: Path, trials: Iterable[Trial]) -> list[tuple[str, ...]]:
    """Rows of the table, if there is one, with those that have been tried since; one row a key."""
    lines = table.read_text(encoding="utf-8").splitlines() if table.exists() else []
    rows = {row[-1]: tuple(row) for row in list(csv.reader(lines))[1:]}
    for trial in trials:
        method, rate, seed, dev, key = astuple(trial)
        rows[key] = (method, f"{rate:g}", str(seed), COLLAPSED if dev is None else f"{dev:.6g}", key)
    return sorted(rows.values(), key=lambda row: (row[0], float(row[1]), int(row[2])))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    run = kinds.add_parser("run")
    run.add_argument("methods")
    run.add_argument("--data-dir", required=True)
    run.add_argument("--workers", default="2")
    for kind in (run, kinds.add_parser("read")):
        kind.add_argument("--records", type=Path, required=True)
        kind.add_argument("--benchmark", choices=BENCHMARKS, default="real")
    given = parser.parse_args()
    if given.kind == "run":
        given.records.mkdir(parents=True, exist_ok=True)
        grid = given.records / "trials.yaml"
        grid.write_text(benchmarks.text(trials_of(given.benchmark, given.methods)), encoding="utf-8")
        options = ["--results", str(given.records), "--data-dir", given.data_dir, "--workers", given.workers]
        app(["run", str(grid), *options])  # which ends this script
    trials = read(Store(given.records))
    table = table_of(given.benchmark)
    rows = merged(table, trials)
    table.parent.mkdir(exist_ok=True)
    with table.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])
    for method, rate in chosen(trials).items():
        print(f"  {method}: {edit(rate)}")


if __name__ == "__main__":
    main()
