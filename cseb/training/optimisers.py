"""Optimisers and learning-rate schedules of recipes, AdamW as in the papers' version of transformers among them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.optim import AdamW, Optimizer, RMSprop

from cseb.methods.recipe import Recipe
from cseb.training.objective import Objective

BETAS = (0.9, 0.999)
DONE = "updates"  # of a weight, in its state


@dataclass(frozen=True, slots=True)
class Released:
    """One of the forms in which transformers 4 gives AdamW. correct_bias: of both moments, by Kingma & Ba 2015."""

    eps: float
    correct_bias: bool


# By name in a recipe. The Trainer of transformers 4 passes eps 1e-8; sentence-transformers before 1.0 passed eps
# 1e-6 and switched the correction off.
RELEASED: Mapping[str, Released] = {
    "adamw_hf": Released(1e-8, correct_bias=True),
    "adamw_uncorrected": Released(1e-6, correct_bias=False),
    "adamw_hf_matrix_decay": Released(1e-8, correct_bias=True),
    "adamw_uncorrected_matrix_decay": Released(1e-6, correct_bias=False),
}


def settings(form: Released, rate: float, decay: float, update: int) -> tuple[float, float, float]:
    """Return the settings with which torch's AdamW makes update number `update` (from 1) of a weight as released.

    Released: w <- (1 - rate decay) (w - s m / (sqrt(v) + eps)), m and v without correction, s = rate sqrt(1 - b2^t) /
    (1 - b1^t), or the rate itself where nothing is corrected. Torch: w <- (1 - rate decay) w - rate / (1 - b1^t) m /
    (sqrt(v / (1 - b2^t)) + eps).

    Returns: torch's rate, eps and decay. Source: transformers 4.2.1, optimization.py.
    """
    first, second = (1 - beta**update for beta in BETAS)
    ratio = 1 - rate * decay  # released: the decay comes after the step, and reduces that too
    if not form.correct_bias:
        ratio *= first / second**0.5
    return rate * ratio, form.eps / second**0.5, decay / ratio


class ReleasedAdamW(AdamW):
    """AdamW of transformers 4: eps is added to sqrt(v) as it is, before the correction for the first steps.

    torch adds it to the corrected one, 32 times as large at the first step. Where gradients are near eps, those of
    queries and keys first, the released one makes smaller steps. Each weight counts the updates it has had, as
    released; one that a scaler of fp16 leaves out is none. Source: transformers 4.2.1, optimization.py, AdamW.step.
    """

    def __init__(self, weights: Any, lr: float, weight_decay: float, form: Released) -> None:
        super().__init__(weights, lr=lr, betas=BETAS, eps=form.eps, weight_decay=weight_decay, fused=True)
        self.form = form
        # Else a scaler would hand over steps that are not to be made, for the kernel to leave out uncounted.
        self._step_supports_amp_scaling = False

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every weight that has a gradient once."""
        loss = None if closure is None else torch.enable_grad()(closure)()
        groups = self.param_groups
        self.param_groups = [split for group in groups for split in self._torch_groups(group)]
        try:
            super().step()
            for group in self.param_groups:
                for weight in group["params"]:
                    self.state[weight][DONE] = group[DONE]
        finally:
            self.param_groups = groups
        return loss

    def _torch_groups(self, group: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the group with torch's settings, split by how often its weights were updated."""
        counted: dict[int, list[Any]] = {}
        for weight in group["params"]:
            if weight.grad is not None:
                done = self.state[weight].get(DONE, 0) if weight in self.state else 0
                counted.setdefault(done + 1, []).append(weight)
        split = []
        for update, weights in counted.items():
            rate, eps, decay = settings(self.form, group["lr"], group["weight_decay"], update)
            split.append({**group, "params": weights, "lr": rate, "eps": eps, "weight_decay": decay, DONE: update})
        return split


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
    """Return the factor of the learning rate for update `step` (from 0): the warm-up, then the schedule."""
    if step < recipe.warmup:
        return step / recipe.warmup
    if recipe.schedule == "constant":
        return 1.0
    if recipe.schedule == "piecewise":
        return [factor for start, factor in recipe.pieces if start <= step][-1]
    return max(0.0, (recipe.steps - step) / max(1, recipe.steps - recipe.warmup))
