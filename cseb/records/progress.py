"""Progress of a running job, from the training loop to its claim and the display."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of a running job.

    key: of the job; "" within the training loop. loss: mean since the last report; None before the first one. dev:
    score on the dev set at an evaluation step, else None.
    """

    key: str
    step: int
    steps: int
    loss: float | None
    dev: float | None
