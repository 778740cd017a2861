"""Comparison of runs with a published score."""

from __future__ import annotations

from dataclasses import dataclass

from cseb.statistics.intervals import LEVEL, Floats, Interval, around, sd


@dataclass(frozen=True, slots=True)
class Agreement:
    """Our mean score less the published one, and the interval of gaps that random seeds alone explain.

    question: what was compared.
    """

    gap: float
    interval: Interval
    question: str

    @property
    def consistent(self) -> bool:
        """Return whether random seeds alone explain the gap."""
        return self.gap in self.interval


def one_run(values: Floats, paper: float, level: float = LEVEL) -> Agreement:
    """Compare a single published run with ours (n,), n at least 2: the prediction interval ± t s sqrt(1 + 1/n)."""
    n, s = len(values), sd(values)
    interval = around(0.0, s * s * (1 + 1 / n), n - 1, level)
    return Agreement(float(values.mean()) - paper, interval, f"one published run among {n} of ours")


def several_runs(values: Floats, mean: float, spread: float, m: int, level: float = LEVEL) -> Agreement:
    """Compare a published mean ± standard deviation over m runs with ours (n,), both at least 2: Welch's t."""
    n, s = len(values), sd(values)
    ours, theirs = s * s / n, spread * spread / m
    total = ours + theirs
    df = total**2 / (ours**2 / (n - 1) + theirs**2 / (m - 1)) if total else 1.0
    question = f"mean of {m} published runs against that of {n} of ours"
    return Agreement(float(values.mean()) - mean, around(0.0, total, df, level), question)
