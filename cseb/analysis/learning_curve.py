"""What more sentences bring: a method on many sentences against itself on fewer, under the same seeds.

The subsets of a seed are nested (`data.subset`), so that what differs is the sentences that were added. Only sizes that
were run are compared, and nothing is said of larger ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cseb.analysis.paired import Sample, compared
from cseb.statistics.paired import STILL, Comparison

FEWEST = 2  # seeds below which a difference has no interval


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A method at `many` sentences against the same method at `few`, at the seeds that both have."""

    method: str
    few: int
    many: int
    seeds: tuple[int, ...]
    found: Comparison


@dataclass(frozen=True, slots=True, eq=False)
class LearningCurve:
    """steps: by method, sizes rising. still: methods with the same points at all sizes. few: those with too few seeds.

    lacking: why intervals for new test items are missing, or "".
    """

    steps: tuple[Step, ...]
    still: tuple[str, ...]
    few: tuple[str, ...]
    lacking: str = ""


def learning_curve(by_size: Mapping[int, Sequence[Sample]]) -> LearningCurve:
    """Each method's neighbouring sizes. by_size: number of sentences to the methods that have points there.

    A method that is not trained has the same points at all sizes, and is named instead.
    """
    held: dict[str, dict[int, Sample]] = {}
    for size in sorted(by_size):
        for one in by_size[size]:
            held.setdefault(one.method, {})[size] = one
    steps: list[Step] = []
    still: list[str] = []
    few: list[str] = []
    for method, samples in held.items():
        own = [step for a, b in pairwise(samples.items()) if (step := _step(method, *a, *b)) is not None]
        if not own:
            few.append(method)
        elif all(np.abs(step.found.differences).max() <= STILL for step in own):
            still.append(method)
        else:
            steps += own
    lacking = next((one.lacking for samples in held.values() for one in samples.values() if one.lacking), "")
    return LearningCurve(tuple(steps), tuple(still), tuple(few), lacking)


def times_as_many(few: int, many: int) -> str:
    """`10 times as many sentences (100 to 1,000)`."""
    return f"{many / few:.3g} times as many sentences ({few:,} to {many:,})"


def _step(method: str, few: int, before: Sample, many: int, after: Sample) -> Step | None:
    """None below so many shared seeds that a difference has an interval."""
    seeds = sorted(set(before.points) & set(after.points))
    return Step(method, few, many, tuple(seeds), compared(before, after, seeds)) if len(seeds) >= FEWEST else None
