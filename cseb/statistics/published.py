"""Our runs beside a published number: do they agree, as far as the paper lets one tell?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cseb.statistics.intervals import LEVEL, Floats, Interval, around, sd


@dataclass(frozen=True, slots=True)
class Agreement:
    """gap: our figure less the paper's, in points. gap_in_sd: the same in our standard deviations, None if that is 0.

    interval: where the gap may lie if there is no true difference but in the random numbers. question: what was asked.
    """

    gap: float
    gap_in_sd: float | None
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
    return _agreement(float(values.mean()) - paper, s, reach, f"one published run among {n} of ours")


def several_runs(values: Floats, mean: float, spread: float, m: int, level: float = LEVEL) -> Agreement:
    """A paper's mean ± standard deviation over m runs against ours (n,), both at least 2: Welch's t."""
    n, s = len(values), sd(values)
    ours, theirs = s * s / n, spread * spread / m
    total = ours + theirs
    df = total**2 / (ours**2 / (n - 1) + theirs**2 / (m - 1)) if total else 1.0
    question = f"mean of {m} published runs against that of {n} of ours"
    return _agreement(float(values.mean()) - mean, s, around(0.0, total, df, level), question)


def best_of(values: Floats, k: int, paper: float, level: float = LEVEL) -> Agreement:
    """A paper's best of k runs against the best of our first k of n, n at least k and 2.

    The interval is that of the difference of two single runs. The maximum of k normal values varies less than one of
    them, so the interval is rather too wide, and a gap outside it stands.
    """
    n, s = len(values), sd(values)
    reach = around(0.0, 2 * s * s, n - 1, level)
    return _agreement(
        float(np.max(values[:k])) - paper, s, reach, f"best of {k} published runs against our best of {k}"
    )


def _agreement(gap: float, s: float, reach: Interval, question: str) -> Agreement:
    return Agreement(gap, gap / s if s > 0 else None, reach, question)
