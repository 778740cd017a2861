"""What does looking at the dev set cost? CPU seconds of one look and of one training step of simcse.

    python benchmarks/speed/look.py [--encoder FOLDER --corpus FILE --data-dir SENTEVAL --dev stsb-dev] [--every 125]

The share is that of all looks in a cell's training, with one look each `--every` steps.
"""

from __future__ import annotations

import argparse
import resource
import time
from pathlib import Path

import torch

from cseb.data.corpus import read_corpus
from cseb.data.weights import find_encoder
from cseb.encoder.encoder import Encoder
from cseb.methods.grammar import parse_method
from cseb.tasks.evaluate import load_task, score_all
from cseb.tasks.names import parse_tasks
from cseb.training.build import build
from cseb.training.loop import train


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoder", default="cseb-tiny")
    parser.add_argument("--corpus", default="wikipedia")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--dev", default="clinc150-dev")
    parser.add_argument("--method", default="simcse")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--looks", type=int, default=2)
    parser.add_argument("--every", type=int, default=125, help="steps between looks that the share is told for")
    options = parser.parse_args()
    torch.set_num_threads(1)
    folder, _ = find_encoder(options.encoder)
    sentences = read_corpus(options.corpus).take(range(options.batch * options.steps))
    (task,) = parse_tasks(options.dev)
    loaded = load_task(task, options.data_dir)
    looks: list[float] = []

    def select(encoder: Encoder) -> float | None:
        begun = time.process_time()
        ((outcome, _),) = score_all([(task, loaded)], encoder.embed)
        looks.append(time.process_time() - begun)
        return outcome.value

    recipe = f"recipe(steps={options.steps},batch_size={options.batch},eval_every={options.steps // options.looks})"
    built = build(parse_method(f"{options.method}+{recipe}").at(1.0), folder, seed=0)
    begun = time.process_time()
    train(built, sentences, 0, "cpu", select, lambda look: None)
    step = (time.process_time() - begun - sum(looks)) / options.steps
    look = sum(looks) / len(looks)
    share = look / (look + options.every * step)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{options.encoder}, {options.method}, batch {options.batch}: one look {look:.3f} CPU s, one step {step:.4f}")
    print(f"looks are {100 * share:.1f} % of training with one each {options.every} steps; peak {peak:.2f} GB")


if __name__ == "__main__":
    main()
