"""What the winner of a race is worth: fresh seeds, judge items that no round has seen, and one comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from cseb.analysis.paired import Sample, compared
from cseb.statistics.intervals import Interval
from cseb.statistics.paired import MARGIN, Comparison

FRESH = range(100, 105)  # seeds that no race has: it counts from 0
Finding = Literal["helps", "harms", "equal", "unclear"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A method against another one, or at two sizes: gain in points, its interval, and what follows.

    interval: over all that is known to vary, 95 %; None below two seeds. scope: what that is.
    """

    gain: float
    interval: Interval | None
    scope: str
    seeds: int
    finding: Finding

    def __str__(self) -> str:
        """`+2.1 (0.9 to 3.3)`."""
        around = f" ({self.interval.low:+.1f} to {self.interval.high:+.1f})" if self.interval is not None else ""
        return f"{self.gain:+.1f}{around}"


def estimate(before: Sample, after: Sample, margin: float = MARGIN) -> Estimate:
    """How much better `after` is at the seeds that both have; at least one.

    helps, harms: the interval excludes zero. equal: it lies inside the margin, or shows that the gain is below it.
    """
    seeds = sorted(set(before.points) & set(after.points))
    found: Comparison = compared(before, after, seeds)
    scope = found.scope
    interval = None if scope is None else found.interval(scope)
    return Estimate(found.mean, interval, scope or "nothing", len(seeds), _finding(interval, margin))


def _finding(interval: Interval | None, margin: float) -> Finding:
    if interval is None:
        return "unclear"
    if interval.low > 0:
        return "helps"
    if interval.high < 0:
        return "harms"
    return "equal" if interval.high < margin else "unclear"
