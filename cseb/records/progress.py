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

    def __str__(self) -> str:
        """Return `step 20/50, loss 1.250, dev 61.00`."""
        step = f"step {self.step}/{self.steps}" if self.steps else "starting"
        loss = "" if self.loss is None else f"loss {self.loss:.3f}"
        dev = "" if self.dev is None else f"dev {self.dev:.2f}"
        return ", ".join(filter(None, (step, loss, dev)))
