"""Optimiser and learning rate as a recipe names them."""

from __future__ import annotations

from typing import Any

from torch.optim import AdamW, Optimizer, RMSprop

from cseb.methods.recipe import Recipe
from cseb.training.objective import Objective
from cseb.training.optimisers import RELEASED, ReleasedAdamW


def optimizer_of(objective: Objective, recipe: Recipe) -> Optimizer:
    """Return the optimiser of all trained weights; a head with a `rate` of its own has that times the recipe's."""
    rate, decay = recipe.learning_rate, recipe.weight_decay
    groups: list[dict[str, Any]] = [{"params": list(objective.parameters())}]
    head: Any = objective.encoder.head
    if (faster := getattr(head, "rate", 1.0)) != 1:
        own = list(head.parameters())
        rest = [weight for weight in objective.parameters() if all(weight is not parameter for parameter in own)]
        groups = [{"params": rest}, {"params": own, "lr": rate * faster}]
    if recipe.optimizer.endswith("matrix_decay"):
        matrices = [{**group, "params": [weight for weight in group["params"] if weight.ndim > 1]} for group in groups]
        vectors = [{**group, "params": [weight for weight in group["params"] if weight.ndim < 2]} for group in groups]
        groups = [*matrices, *({**group, "weight_decay": 0.0} for group in vectors)]
    if recipe.optimizer == "rmsprop":
        return RMSprop(groups, lr=rate, alpha=0.9, eps=1e-7, weight_decay=decay)
    if recipe.optimizer in RELEASED:
        return ReleasedAdamW(groups, rate, decay, RELEASED[recipe.optimizer])
    return AdamW(groups, lr=rate, weight_decay=decay, fused=True)


def rate(recipe: Recipe, step: int) -> float:
    """The factor of the learning rate for update `step` (from 0): a ramp, then what the schedule says."""
    if step < recipe.warmup:
        return step / recipe.warmup
    if recipe.schedule == "constant":
        return 1.0
    if recipe.schedule == "piecewise":
        return [factor for start, factor in recipe.pieces if start <= step][-1]
    return max(0.0, (recipe.steps - step) / max(1, recipe.steps - recipe.warmup))
