"""Minutes of one job by method, encoder and GPU, computed from arithmetic and an assumed efficiency. Nothing was run.

    python -m benchmarks.speed.run_time

A step of SimCSE takes its floating-point operations divided by the speed that a GPU is assumed to reach, but at least
the assumed time of starting its kernels. Other methods take the multiple in results/speed/cost.csv, measured on a CPU.
Writes the tables of docs/guide/run-time.md, behind their comment lines.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from benchmarks.marked import write_tables
from benchmarks.speed.plan import ROOT, ROWS, STEPS, WORD_PIECES, costs

PAGE = Path(ROOT) / "docs" / "guide" / "run-time.md"
EFFICIENCY = 0.3  # of a GPU's peak: assumed
KERNELS = 0.002  # seconds per layer and step for starting kernels, forward, backward and update: assumed
EVALUATIONS, DEV_SENTENCES = 125, 3_000  # recipe(eval_every=125) on the dev set of STS-B
TEST_SENTENCES = 2 * 37_700  # of the seven STS tasks, for the best and the last checkpoint
TEST_WORD_PIECES = 15  # of a test sentence, special tokens included: assumed
METHODS = (
    *("simcse", "simcse+ami", "micse", "msse", "informin-cl", "compcse", "rcl-unsup", "esimcse", "promptbert"),
    *("diffcse", "tsdae", "pcl"),
)


class Encoder(NamedTuple):
    """An encoder. weights: of its layers, without embeddings."""

    name: str
    weights: float
    layers: int


class Gpu(NamedTuple):
    """A GPU. half, full: peak floating-point operations per second in its data sheet, without sparsity."""

    name: str
    precision: str
    half: float
    full: float


ENCODERS = (Encoder("MiniLM-L6", 10.6e6, 6), Encoder("BERT-base", 85e6, 12), Encoder("BERT-large", 302e6, 24))
GPUS = (Gpu("T4", "fp16", 65e12, 8.1e12), Gpu("A100", "bf16", 312e12, 19.5e12), Gpu("H100 SXM", "bf16", 989e12, 67e12))


def step(encoder: Encoder, peak: float) -> float:
    """Return the seconds of a step of SimCSE. peak: operations per second."""
    return max(6 * encoder.weights * ROWS * WORD_PIECES / (EFFICIENCY * peak), KERNELS * encoder.layers)


def evaluation(encoder: Encoder, peak: float) -> float:
    """Return the seconds of all evaluations of a job. peak: operations per second."""
    sentences = EVALUATIONS * DEV_SENTENCES + TEST_SENTENCES
    return 2 * encoder.weights * sentences * TEST_WORD_PIECES / (EFFICIENCY * peak)


def tables() -> dict[str, str]:
    """Return the tables by the name of their place in the page."""
    pairs = [(encoder, gpu) for encoder in ENCODERS for gpu in GPUS]
    simcse = [
        f"| {encoder.name} | {gpu.name} | {gpu.precision} | {step(encoder, gpu.half) * 1000:.0f} "
        f"| {STEPS * step(encoder, gpu.half) / 60:.0f} | {evaluation(encoder, gpu.half) / 60:.1f} "
        f"| {STEPS * step(encoder, gpu.full) / 60:.0f} | {evaluation(encoder, gpu.full) / 60:.1f} |"
        for encoder, gpu in pairs
    ]
    cost = costs()
    minutes = {
        method: [
            (cost[method] * STEPS * step(encoder, gpu.half) + evaluation(encoder, gpu.half)) / 60
            for encoder, gpu in pairs
        ]
        for method in METHODS
    }
    names = [f"{encoder.name}, {gpu.name}" for encoder, gpu in pairs]
    return {
        "simcse": "\n".join([
            "| encoder | GPU | half | ms a step | training, min | evaluation | training, fp32 | evaluation, fp32 |",
            "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: |",
            *simcse,
        ]),
        "methods": "\n".join([
            f"| method | {' | '.join(names)} |",
            f"| --- |{' ---: |' * len(names)}",
            *(f"| `{method}` | {' | '.join(f'{each:,.0f}' for each in row)} |" for method, row in minutes.items()),
        ]),
    }  # fmt: skip


if __name__ == "__main__":
    write_tables(PAGE, "benchmarks/speed/run_time.py", tables())
