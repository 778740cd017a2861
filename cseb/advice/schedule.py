"""How many methods and seeds are trained: all of them, or as many as a budget of time allows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cseb.analysis.paired import Sample
from cseb.errors import BadBenchmark
from cseb.statistics.items import variance
from cseb.statistics.power import Design
from cseb.text import duration, quantity

SELECTING, DECIDING, FEWEST_DECIDING = 3, 5, 3  # seeds
STARTING = 10.0  # seconds until the worker processes of a grid are ready
CORRELATION = 0.9  # of what examples contribute to the scores of an encoder before and after a short training


@dataclass(frozen=True, slots=True)
class Schedule:
    """The runs of a recommendation.

    selecting: seeds of every method, 0 for a single one. deciding: further seeds of the best.
    """

    methods: tuple[str, ...]
    selecting: int
    deciding: int

    @property
    def deciding_seeds(self) -> range:
        """Return the seeds that decide; none of them has selected a method."""
        return range(self.selecting, self.selecting + self.deciding)

    def seconds(self, run: Mapping[str, float], workers: int) -> float:
        """Return the expected time. run: seconds of one run of each method. workers: runs at a time."""
        times = [run[method] for method in self.methods]
        turns = -(-self.selecting * len(times) // workers) * sum(times) / len(times)
        return turns + -(-self.deciding // workers) * max(times) + STARTING * (1 + bool(self.selecting))

    def __str__(self) -> str:
        """`4 methods with 3 seeds each, then 5 seeds of the best`."""
        seeds = quantity(self.deciding, "seed")
        if not self.selecting:
            return f"{self.methods[0]} with {seeds}"
        return f"{quantity(len(self.methods), 'method')} with {self.selecting} seeds each, then {seeds} of the best"


def fitting(run: Mapping[str, float], workers: int, budget: float | None) -> Schedule:
    """Return the largest schedule that fits a budget in seconds, None for no limit. Raises: BadBenchmark if none fits.

    run: seconds of one run of each method, the most promising method first. workers: runs at a time.
    """
    names = tuple(run)
    choices = [Schedule(names[:count], SELECTING, DECIDING) for count in range(len(names), 1, -1)]
    choices += [Schedule(names[:1], 0, seeds) for seeds in (DECIDING, FEWEST_DECIDING)]
    for schedule in choices:
        if budget is None or schedule.seconds(run, workers) <= budget:
            return schedule
    least = choices[-1].seconds(run, workers)
    raise BadBenchmark(
        f"`budget` is {duration(budget or 0.0)}; {choices[-1]} already takes about {duration(least)}. Give `budget` "
        f"{-(-1.1 * least // 60):.0f}m or more, or fewer `steps`"
    )


def detectable(base: Sample, seeds: int) -> float:
    """Return the difference in points that these examples detect with 80 % power. base: without training."""
    [contributions] = base.contributions.values()
    return Design(seeds, 0.0, 2 * (1 - CORRELATION) * variance(contributions)).detectable() or 0.0
