"""How far a running job is, as the trainer tells the runner, its claim and the display."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a running job.

    key: of the job; "" within the trainer, which knows of none. loss: mean since the last report. dev: points, at the
    end of an evaluation interval. Both are None before there is one.
    """

    key: str
    step: int
    steps: int
    loss: float | None
    dev: float | None
