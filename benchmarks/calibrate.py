"""Measure how far the scores of a benchmark scatter when its jobs are repeated; `cseb check` allows so much.

    python -m benchmarks.calibrate BENCHMARK

Trains all cells that are checked six times, with other numbers of threads, libraries of linear layers, orders of jobs
and instruction sets, and writes the standard deviation of each method into `reference.json` of the expected records.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from cseb.analysis.stats import score
from cseb.commands.check import cells_of, expected_store, trained
from cseb.encoder.linear import available
from cseb.errors import BadResults
from cseb.records.record import Record
from cseb.regression import reference as references
from cseb.regression.reference import Repeatability
from cseb.text import quantity

# Instruction sets of older processors: PyTorch's and MKL's kernels add in another order on each. The variables are read
# when a process loads torch, so these turns need two workers, which are processes of their own.
AVX2 = {"ATEN_CPU_CAPABILITY": "avx2", "MKL_CBWR": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"}
OLDEST = {"ATEN_CPU_CAPABILITY": "default", "MKL_CBWR": "COMPATIBLE", "ONEDNN_MAX_CPU_ISA": "SSE41"}


@dataclass(frozen=True, slots=True)
class Turn:
    """The conditions of one repeat. instructions: variables of the environment for an older processor."""

    threads: int
    workers: str
    linear: str
    backwards: bool = False
    instructions: Mapping[str, str] = field(default_factory=dict)


TURNS = (
    Turn(1, "2", "blas"),
    Turn(2, "1", "onednn", backwards=True),
    Turn(1, "2", "blas", instructions=AVX2),
    Turn(1, "2", "onednn", backwards=True, instructions=OLDEST),
    Turn(4, "1", "blas"),
    Turn(1, "2", "onednn", backwards=True, instructions=AVX2),
)
VARIED = (
    "1, 2 and 4 threads, order of jobs, 1 and 2 processes, both libraries of linear layers, instruction sets of older "
    "processors"
)


def calibrate(name: str, data_dir: str = "", turns: Sequence[Turn] = TURNS) -> Repeatability:
    """Train all cells of a benchmark that are checked once per turn, and store how far their averages scatter."""
    cells = cells_of(name, data_dir)
    repeats: list[list[Record]] = []
    for number, turn in enumerate(turns, 1):
        fresh = trained(
            cells,
            workers=turn.workers,
            threads=turn.threads,
            linear=turn.linear if available() else "blas",
            device="cpu",
            backwards=turn.backwards,
        )
        with _environment(turn.instructions), fresh as store:
            repeats.append(store.load()[0])
        print(f"repeat {number} of {len(turns)} done", flush=True)
    measured = Repeatability(
        repeats=len(repeats),
        cells=quantity(len(repeats[0]), "job"),
        varied=VARIED,
        conditions=references.conditions(repeats[0]),
        sd=scatter(repeats),
    )
    folder = expected_store(name, cells).folder
    folder.mkdir(parents=True, exist_ok=True)
    references.write(folder, references.read(folder).model_copy(update={"repeatability": measured}))
    return measured


def scatter(repeats: Sequence[Sequence[Record]]) -> dict[str, float]:
    """Return the standard deviation of averages over tasks by method, pooled over fractions and checkpoints.

    repeats: the records of the same jobs, once for each repeat. Raises: BadResults for jobs without scores.
    """
    values: dict[tuple[str, int, int, str], list[float]] = {}
    for records in repeats:
        for one in records:
            for select in sorted({each.select for each in one.scores}) or ["last"]:
                points = score(one, one.protocol.tasks, select)
                if isinstance(points, str):
                    raise BadResults(
                        f"{one.method} on {quantity(one.subset.size, 'sentence')}: {points}; nothing to repeat"
                    )
                values.setdefault((one.method, one.subset.size, one.seed, select), []).append(points)
    variances: dict[str, list[float]] = {}
    for (method, *_), points_held in values.items():
        variances.setdefault(method, []).append(float(np.var(points_held, ddof=1)))
    return {method: float(np.sqrt(np.mean(each))) for method, each in variances.items()}


@contextmanager
def _environment(changes: Mapping[str, str]) -> Iterator[None]:
    """Set these variables, for processes that start meanwhile."""
    before = {name: os.environ.get(name) for name in changes}
    os.environ.update(changes)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


if __name__ == "__main__":
    measured = calibrate(sys.argv[1], os.environ.get("CSEB_DATA_DIR", ""))
    for method, deviation in measured.sd.items():
        print(f"{method}: sd {deviation:.4f} points, limit for one cell ±{measured.limit(method):.4f}")
