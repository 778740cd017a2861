"""One optimiser update: backward, gradient clipping, optimiser, learning-rate schedule."""

from __future__ import annotations

from accelerate import Accelerator
from torch import Tensor
from torch.optim.lr_scheduler import LambdaLR

from cseb.methods.recipe import Recipe
from cseb.training.objective import Objective
from cseb.training.schedule import optimizer_of, rate


class Updates:
    """The objective prepared by Accelerate, with its optimiser and schedule.

    Attributes:
        model: the objective as Accelerate wraps it for devices and processes.
        skipped: updates left out because an fp16 gradient overflowed.
    """

    def __init__(self, accelerator: Accelerator, objective: Objective, recipe: Recipe) -> None:
        self.accelerator, self.objective, self.recipe = accelerator, objective, recipe
        optimizer = optimizer_of(objective, recipe)
        self.schedule = LambdaLR(optimizer, lambda step: rate(recipe, step))
        self.model, self.optimizer = accelerator.prepare(objective, optimizer)
        self.skipped = 0

    def step(self, loss: Tensor) -> None:
        """Update every weight once from the gradient of `loss` (scalar)."""
        self.accelerator.backward(loss)
        if self.recipe.clip:
            self.accelerator.clip_grad_norm_(self.objective.parameters(), self.recipe.clip)
        self.optimizer.step()
        if self.accelerator.optimizer_step_was_skipped:  # the schedule counts updates, as Accelerate's own does
            self.skipped += 1
        else:
            self.schedule.step()
        self.optimizer.zero_grad(set_to_none=True)

    def notes(self, step: int) -> list[str]:
        """Return what the record must say of the first `step` updates."""
        if not self.skipped:
            return []
        return [f"{self.skipped} of {step} updates were skipped because fp16 gradients overflowed"]
