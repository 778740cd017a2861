"""Our runs beside a published number: do they agree, as far as the paper lets one tell?"""

from __future__ import annotations

from dataclasses import dataclass

from cseb.statistics.intervals import LEVEL, Floats, Interval, around, sd


@dataclass(frozen=True, slots=True)
class Agreement:
    """gap: our figure less the paper's, in points.

    interval: where the gap may lie if there is no true difference but in the random numbers. question: what was asked.
    """

    gap: float
    interval: Interval
    question: str

    @property
    def consistent(self) -> bool:
        """Whether the gap is one that other random numbers could make."""
        return self.gap in self.interval


def one_run(values: Floats, paper: float, level: float = LEVEL) -> Agreement:
    """A paper's single run against ours (n,), n at least 2: could it be one of them? ± t s sqrt(1 + 1/n)."""
    n, s = len(values), sd(values)
    reach = around(0.0, s * s * (1 + 1 / n), n - 1, level)
    return Agreement(float(values.mean()) - paper, reach, f"one published run among {n} of ours")


def several_runs(values: Floats, mean: float, spread: float, m: int, level: float = LEVEL) -> Agreement:
    """A paper's mean ± standard deviation over m runs against ours (n,), both at least 2: Welch's t."""
    n, s = len(values), sd(values)
    ours, theirs = s * s / n, spread * spread / m
    total = ours + theirs
    df = total**2 / (ours**2 / (n - 1) + theirs**2 / (m - 1)) if total else 1.0
    question = f"mean of {m} published runs against that of {n} of ours"
    return Agreement(float(values.mean()) - mean, around(0.0, total, df, level), question)
