"""How fast are transfer tasks? All classifiers of several folds in one program against one after the other.

    python benchmarks/speed/transfer.py --reference FOLDER [--rows 3775] [--width 768] [--problems 2] [--rounds 3]

The first inner folds of a nested cross-validation on embeddings that are in memory: 4 classifiers each, the settings of
senteval-transfer@1. FOLDER contains the package `senteval` as in the SentEval folder of princeton-nlp/SimCSE. Both
sides are measured in turn; CPU time is what a busy
machine distorts least. At the end the peak memory of a task as large as SST2, in a process of its own.
"""

from __future__ import annotations

import argparse
import inspect
import multiprocessing
import os
import statistics
import sys
import time
import types
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from cseb.experiment.origin import peak_rss_mb
from cseb.processor import processor
from cseb.tasks.influence import Labels
from cseb.tasks.task import Vectors
from cseb.tasks.transfer.labelled import SST2_FILES, Examples, LabelledTexts
from cseb.tasks.transfer.linear import SEED, TEST, Batched, Problem
from cseb.tasks.transfer.schemes import TEST_RECIPE, folds, searches


def embeddings(rows: int, width: int) -> tuple[Vectors, Labels]:
    """Two classes of normal vectors, half of the length of a BERT embedding, that overlap."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, rows)
    shift = rng.standard_normal(width, dtype=np.float32) * 0.04
    features = 0.25 * rng.standard_normal((rows, width), dtype=np.float32) + np.outer(labels, shift).astype(np.float32)
    return features, labels


def together(x: Vectors, y: Labels, problems: list[Problem]) -> list[float]:
    """All values of L2 of several problems in one program."""
    return [one.accuracy for found in Batched(TEST, x, y, 2).fit_all(problems) for one in found]


def reference(folder: Path) -> Callable[[Vectors, Labels, list[Problem]], list[float]]:
    """The classifier in `folder`, made to run on a CPU: it asks for CUDA and for a function that Python has dropped."""
    import torch

    inspect.getargspec = inspect.getfullargspec  # type: ignore[attr-defined]
    for kind in (torch.Tensor, torch.nn.Module):
        setattr(kind, "cuda", lambda self: self)  # noqa: B010 (to mypy it is another type)
    sys.path.insert(0, str(folder))
    import senteval.tools.classifier as theirs

    seeds = types.SimpleNamespace(FloatTensor=torch.FloatTensor, manual_seed=lambda seed: None)
    theirs.torch = types.SimpleNamespace(**vars(torch) | {"device": lambda name: torch.device("cpu"), "cuda": seeds})
    options = {
        "nhid": 0,
        "optim": TEST.optimiser,
        "batch_size": TEST.batch,
        "tenacity": TEST.tenacity,
        "epoch_size": TEST.passes,
    }

    def scores(x: Vectors, y: Labels, problems: list[Problem]) -> list[float]:
        found = []
        for train, held, values in problems:
            for value in values:
                model = theirs.MLP(options, inputdim=x.shape[1], nclasses=2, l2reg=value, seed=SEED)
                found.append(model.fit(x[train], y[train], validation_data=(x[held], y[held])))
        return found

    return scores


def peak(rows: int, width: int) -> float:
    """GB at the peak of a task as large as SST2, all embeddings included."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak, (rows, width))


def _peak(rows: int, width: int) -> float:
    x, y = embeddings(rows, width)
    cuts = [0, SST2_FILES[0].rows, SST2_FILES[0].rows + SST2_FILES[1].rows, rows]
    parts = tuple(Examples(tuple((str(i),) for i in range(a, b)), tuple(y[a:b].tolist())) for a, b in pairwise(cuts))
    LabelledTexts(parts, 2, TEST_RECIPE).items(lambda sentences: x[[int(sentence) for sentence in sentences]])
    return peak_rss_mb() / 2**10


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reference", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=3775)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--problems", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of ours")
    parser.add_argument("--other-threads", type=int, default=1, help="of the other side")
    told = parser.parse_args()
    import torch

    x, y = embeddings(told.rows, told.width)
    problems = searches(TEST_RECIPE, folds(y, 10)[0][0], y)[: told.problems]
    other, name = reference(told.reference), "reference"
    print(
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {processor()}, {os.cpu_count()} cores, "
        f"load {os.getloadavg()[0]:.0f}, torch {torch.__version__}, numpy {np.__version__}"
    )
    print(f"{told.rows} x {told.width} embeddings, {4 * told.problems} classifiers, seconds of CPU (wall)")
    ratios: list[tuple[float, float]] = []
    for _ in range(told.rounds):
        times, scores = [], []
        for way, threads in ((other, told.other_threads), (together, told.threads)):
            torch.set_num_threads(threads)
            with threadpool_limits(threads):
                cpu, wall = time.process_time(), time.perf_counter()
                scores.append(way(x, y, problems))
                times.append((time.process_time() - cpu, time.perf_counter() - wall))
        ratios.append((times[0][0] / times[1][0], times[0][1] / times[1][1]))
        same = "the same scores" if scores[0] == scores[1] else f"scores {scores[0]} and {scores[1]}"
        shown = [f"{cpu:.2f} ({wall:.2f})" for cpu, wall in times]
        print(
            f"{name}, {told.other_threads} threads: {shown[0]}   together, {told.threads} threads: {shown[1]}   {same}"
        )
    cpu, wall = (statistics.median(each) for each in zip(*ratios, strict=True))
    print(f"{name} to together, median of {told.rounds}: CPU {cpu:.1f}, wall {wall:.1f}")
    rows = sum(file.rows for file in SST2_FILES)
    print(f"peak memory with {rows} x {told.width} embeddings: {peak(rows, told.width):.2f} GB")


if __name__ == "__main__":
    main()
