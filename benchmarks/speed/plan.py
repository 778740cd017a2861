"""Hours of a large grid on many GPUs, computed from what its methods cost on a processor.

    python -m benchmarks.speed.plan

Every method of results/speed/cost.csv that trains an encoder on sentences alone (its first row there), five shares,
five seeds, 15,625 steps each; a step of SimCSE takes what is assumed here. Jobs are handed out in the order of
`expected_time.longest_first`, one to a GPU. Writes the tables of results/speed/plan.md, behind their comment lines.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.marked import write_tables
from cseb.experiment.grid import longest_first, makespan
from cseb.methods.grammar import parse_method

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "results" / "speed" / "plan.md"
ON_SENTENCES = ("generated", "embedded", "embedded-written")  # settings of the costs that are planned with
SHARES, SEEDS, STEPS, SCORING = 5, 5, 15_625, 60.0  # seconds of scoring a job: assumed
ASSUMED = (0.025, 0.05, 0.1)  # seconds of a step of SimCSE
GPUS = (8, 64, 256, 512, 1_000)
WEIGHTS, ROWS, WORD_PIECES = 85e6, 128, 21.9  # BERT-base's layers; two views of 64; mean of wiki1m's head, cut at 32


@dataclass(frozen=True)
class Recipe:
    """What the order asks of one."""

    steps: int = STEPS
    batch_size: int = 64


@dataclass(frozen=True)
class Run:
    """What the order asks of a job."""

    key: str
    seed: int
    recipe: Recipe = Recipe()


def costs() -> dict[str, float]:
    """Cost of each method that trains an encoder on sentences alone, to SimCSE's."""
    found: dict[str, float] = {}
    with (ROOT / "results" / "speed" / "cost.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["setting"] in ON_SENTENCES and parse_method(row["method"]).terms:
                found.setdefault(row["method"], float(row["to_simcse"]))
    return found


def seconds_of(costs: dict[str, float], step: float) -> dict[str, float]:
    """Seconds of each job, by its key."""
    return {
        f"{method}/{share}/{seed}": cost * STEPS * step + SCORING
        for method, cost in costs.items()
        for share in range(SHARES)
        for seed in range(SEEDS)
    }


def elapsed(seconds: dict[str, float], gpus: int) -> float:
    """Seconds until the last job has ended."""
    jobs: Any = [Run(key, int(key.rpartition("/")[2])) for key in seconds]
    return makespan([seconds[job.key] for job in longest_first(jobs, seconds, gpus)], gpus)


def tables(costs: dict[str, float]) -> dict[str, str]:
    """What is computed, by the name of its place in the page."""
    each = [seconds_of(costs, step) for step in ASSUMED]
    total, longest = sum(each[1].values()), max(costs, key=lambda method: costs[method])
    rows = []
    for gpus in GPUS:
        hours = [elapsed(seconds, gpus) / 3600 for seconds in each]
        rows.append(
            f"| {gpus:,} | {' / '.join(f'{one:.1f}' for one in hours)} | {total / hours[1] / 36 / gpus:.0f} % |"
        )
    low, middle, high = (step * STEPS for step in ASSUMED)
    work = 6 * WEIGHTS * ROWS * WORD_PIECES / 1e12
    slow, likely, quick = (f"{work / step:.0f}" for step in reversed(ASSUMED))
    each_cost = sorted(costs.values())
    return {
        "computed": "\n".join([
            "| what | figure |",
            "| --- | --- |",
            f"| jobs | {len(each[1]):,}: {len(costs)} methods x {SHARES} x {SEEDS} |",
            f"| arithmetic of a simcse step | {work:.1f} TFLOP: 6 x 85 million weights x {ROWS} sentences x "
            f"{WORD_PIECES} word pieces, no padding |",
            f"| simcse | {middle:,.0f} s ({low:,.0f} to {high:,.0f}), "
            f"at {likely} TFLOP/s ({quick} to {slow}) |",
            f"| cost of a method, to simcse | {each_cost[0]} to {each_cost[-1]} (`{longest}`), "
            f"mean {mean(each_cost):.2f} |",
            f"| all of it | {total / 3600:,.0f} GPU hours |",
            f"| the longest job | {max(each[1].values()) / 3600:.1f} hours |",
        ]),
        "hours": "\n".join(
            [
                f"| GPUs | hours at {' / '.join(map(str, ASSUMED))} s a step | GPUs busy |",
                "| --- | --- | --- |",
                *rows,
            ]
        ),
    }  # fmt: skip


if __name__ == "__main__":
    write_tables(PAGE, "benchmarks/speed/plan.py", tables(costs()))
