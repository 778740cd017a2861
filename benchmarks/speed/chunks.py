"""Measure memory and time of `recipe(chunk=C)` against plain steps of the same batch, on a CPU.

    python benchmarks/speed/chunks.py [--encoder cseb-mini] [--batches 64,256,1024] [--chunk 64] [--steps 3]

Prints a table in Markdown. Each run has a process of its own. Memory is the largest resident set during training, less
that before it.
"""

from __future__ import annotations

import argparse
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from cseb.data.read_corpus import read_corpus
from cseb.data.weights import find_encoder
from cseb.experiment.origin import peak_rss_mb
from cseb.methods.grammar import parse_method
from cseb.processor import processor
from cseb.training.build import build
from cseb.training.loop import train


def step(folder: Path, method: str, batch: int, chunk: int, steps: int) -> tuple[float, float]:
    """Return the seconds of a step and the memory that training adds, in MB."""
    sentences = read_corpus("wikipedia").take(range(2 * batch))
    recipe = f"recipe(steps={steps},batch_size={batch},eval_every={steps},warmup=0,padding=fixed,chunk={chunk})"
    built = build(parse_method(f"{method}+{recipe}").at(1.0), folder, seed=0)
    before, start = peak_rss_mb(), time.perf_counter()
    train(built, sentences, 0, "cpu", None, lambda progress: None)
    return (time.perf_counter() - start) / steps, peak_rss_mb() - before


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="cseb-mini")
    parser.add_argument("--method", default="simcse")
    parser.add_argument("--batches", default="64,256,1024")
    parser.add_argument("--chunk", type=int, default=64)
    parser.add_argument("--steps", type=int, default=3)
    options = parser.parse_args()
    folder, _ = find_encoder(options.encoder)
    print(f"{processor()}, {options.method}, {options.encoder}, 32 tokens, one thread\n")
    print("| batch | chunk | seconds per step | memory, MB |")
    print("| ---: | ---: | ---: | ---: |")
    for batch in map(int, options.batches.split(",")):
        for chunk in (0, options.chunk):
            with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
                seconds, memory = pool.submit(step, folder, options.method, batch, chunk, options.steps).result()
            print(f"| {batch:,} | {chunk or 'all'} | {seconds:.2f} | {memory:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
