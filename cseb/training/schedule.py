"""Optimiser and learning rate as a recipe names them."""

from __future__ import annotations

from typing import Any

from torch.optim import AdamW, Optimizer, RMSprop

from cseb.methods.recipe import Recipe
from cseb.training.objective import Objective
from cseb.training.optimisers import RELEASED, ReleasedAdamW


def optimizer_of(objective: Objective, recipe: Recipe) -> Optimizer:
    """The optimiser of everything that is trained; a head with a rate of its own has it times the recipe's."""
    rate, decay = recipe.learning_rate, recipe.weight_decay
    weights: Any = objective.parameters()
    own: Any = objective.encoder.head
    if (faster := getattr(own, "rate", 1.0)) != 1:
        head = list(own.parameters())
        rest = [weight for weight in weights if all(weight is not one for one in head)]
        weights = [{"params": rest}, {"params": head, "lr": rate * faster}]
    if recipe.optimizer == "rmsprop":
        return RMSprop(weights, lr=rate, alpha=0.9, eps=1e-7, weight_decay=decay)
    if recipe.optimizer in RELEASED:
        return ReleasedAdamW(weights, rate, decay, RELEASED[recipe.optimizer])
    return AdamW(weights, lr=rate, weight_decay=decay, fused=True)


def rate(recipe: Recipe, step: int) -> float:
    """The factor of the learning rate for update `step` (from 0): a ramp, then what the schedule says."""
    if step < recipe.warmup:
        return step / recipe.warmup
    if recipe.schedule == "constant":
        return 1.0
    if recipe.schedule == "piecewise":
        return [factor for start, factor in recipe.pieces if start <= step][-1]
    return max(0.0, (recipe.steps - step) / max(1, recipe.steps - recipe.warmup))
