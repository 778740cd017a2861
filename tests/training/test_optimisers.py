"""The released AdamW: its equations in a plain loop, what a scaler leaves out; learning rates by step."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn import Parameter
from torch.optim import AdamW

from cseb.methods.grammar import parse_method
from cseb.methods.recipe import Recipe
from cseb.training import optimisers
from cseb.training.objective import Objective
from cseb.training.optimisers import RELEASED, Released, ReleasedAdamW, optimizer_of
from tests.training.small_runs import Tiny, built_of, recipe

RATES = (0.0, 0.1, 0.3, 0.2, 0.1, 0.05, 0.02)  # a warm-up starts at 0


def by_hand(start: Tensor, gradients: list[Tensor], form: Released, decay: float) -> Tensor:
    """transformers 4.2.1, optimization.py: both moments, a step, and then the decay, one number after another."""
    results = []
    for at in range(len(start)):
        weight, first, second = float(start[at]), 0.0, 0.0
        for update, (gradient, rate) in enumerate(zip(gradients, RATES, strict=True), 1):
            slope = float(gradient[at])
            first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope * slope
            step = rate * (1 - 0.999**update) ** 0.5 / (1 - 0.9**update) if form.correct_bias else rate
            weight -= step * first / (second**0.5 + form.eps)
            weight -= rate * decay * weight
        results.append(weight)
    return torch.tensor(results, dtype=torch.float64)


def some(count: int) -> tuple[Tensor, list[Tensor]]:
    """A weight, and gradients from far below eps to far above."""
    drawn = torch.Generator().manual_seed(1)
    sizes = torch.logspace(-10, 0, 40, dtype=torch.float64)
    start = torch.randn(40, generator=drawn, dtype=torch.float64)
    return start, [torch.randn(40, generator=drawn, dtype=torch.float64) * sizes for _ in range(count)]


def updated(optimizer: torch.optim.Optimizer, weight: Parameter, gradients: list[Tensor]) -> Tensor:
    for gradient, rate in zip(gradients, RATES, strict=True):
        for group in optimizer.param_groups:
            group["lr"] = rate
        weight.grad = gradient.clone()
        optimizer.step()
    return weight.detach()


@pytest.mark.parametrize("name", RELEASED)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_updates_are_those_of_the_printed_equations(name: str, decay: float) -> None:
    start, gradients = some(len(RATES))
    weight = Parameter(start.clone())
    optimizer = ReleasedAdamW([weight], 0.1, decay, RELEASED[name])
    result = updated(optimizer, weight, gradients)
    assert (result - by_hand(start, gradients, RELEASED[name], decay)).abs().max() < 1e-13
    (group,) = optimizer.param_groups
    assert (group["lr"], group["eps"], group["weight_decay"]) == (RATES[-1], RELEASED[name].eps, decay)


def test_a_weight_counts_its_own_updates() -> None:
    """One that has no gradient yet starts with its first one, and settings kept in a file go on where they were."""
    start, gradients = some(len(RATES))
    early, late = Parameter(start.clone()), Parameter(start.clone())
    optimizer = ReleasedAdamW([early, late], 0.1, 0.0, RELEASED["adamw_hf"])
    for _ in range(3):
        early.grad = torch.ones_like(start)
        optimizer.step()
    early.grad = None
    again = ReleasedAdamW([early, late], 0.1, 0.0, RELEASED["adamw_hf"])
    again.load_state_dict(optimizer.state_dict())
    assert again.state[early]["updates"] == 3
    result = updated(again, late, gradients)
    assert (result - by_hand(start, gradients, RELEASED["adamw_hf"], 0.0)).abs().max() < 1e-13


def test_a_step_that_a_scaler_leaves_out_is_no_update() -> None:
    start, gradients = some(len(RATES))
    weight = Parameter(start.clone())
    optimizer = ReleasedAdamW([weight], 0.1, 0.0, RELEASED["adamw_hf"])
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0, growth_interval=1000)
    for number, (gradient, rate) in enumerate(zip(gradients, RATES, strict=True)):
        optimizer.param_groups[0]["lr"] = rate
        if number in (0, 2):
            weight.grad = torch.full_like(start, torch.inf)
            scaler.scale(torch.ones(()))
            scaler.step(optimizer)
            scaler.update()
        weight.grad = gradient * scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
    assert (weight.detach() - by_hand(start, gradients, RELEASED["adamw_hf"], 0.0)).abs().max() < 1e-13


@pytest.mark.parametrize(
    ("name", "kind"), [("adamw", AdamW), ("adamw_hf", ReleasedAdamW), ("rmsprop", torch.optim.RMSprop)]
)
def test_the_recipe_chooses(tiny: Tiny, name: str, kind: type) -> None:
    built = built_of(tiny, "vascl")
    rest, head = (made := optimizer_of(Objective(built), replace(built.recipe, optimizer=name))).param_groups
    assert type(made) is kind
    assert head["lr"] == pytest.approx(100 * rest["lr"])


@pytest.mark.parametrize(
    ("name", "settings"),
    [("adamw", {"eps": 1e-8, "betas": (0.9, 0.999)}), ("rmsprop", {"alpha": 0.9, "eps": 1e-7, "momentum": 0})],
)
def test_settings_are_those_of_torch_and_keras_and_of_the_recipe(
    tiny: Tiny, name: str, settings: dict[str, object]
) -> None:
    built = built_of(tiny, f"simcse+recipe(optimizer={name},learning_rate=0.02,weight_decay=0.3)")
    (group,) = optimizer_of(Objective(built), built.recipe).param_groups
    expected = settings | {"lr": 0.02, "weight_decay": 0.3}
    assert {key: group[key] for key in expected} == expected


@pytest.mark.parametrize("name", ["adamw_hf_matrix_decay", "adamw_uncorrected_matrix_decay"])
def test_biases_and_layer_norms_are_spared_where_the_name_says_so(tiny: Tiny, name: str) -> None:
    built = built_of(tiny, "vascl+recipe(weight_decay=0.1)")  # its head has a rate
    objective = Objective(built)
    decay = {
        id(weight): group["weight_decay"]
        for group in optimizer_of(objective, replace(built.recipe, optimizer=name)).param_groups
        for weight in group["params"]
    }
    for label, weight in objective.named_parameters():
        spared = label.endswith("bias") or "norm" in label.lower()
        assert decay[id(weight)] == (0.0 if spared else 0.1), label


def test_rate_ramps_then_falls_or_stays() -> None:
    linear = [optimisers.rate(recipe(steps=10, warmup=4), step) for step in range(10)]
    assert linear == pytest.approx([0, 0.25, 0.5, 0.75, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert optimisers.rate(recipe(steps=10, warmup=4, schedule="constant"), 9) == 1
    steps = recipe(steps=10, schedule="piecewise", pieces=((0, 1.0), (3, 0.5), (5, 0.2)))
    assert [optimisers.rate(steps, step) for step in range(8)] == [1, 1, 1, 0.5, 0.5, 0.2, 0.2, 0.2]


def test_ct_has_the_released_rates() -> None:
    settled = Recipe(**dict(parse_method("ct").recipe.options))
    at = [settled.learning_rate * optimisers.rate(settled, step) for step in (0, 499, 500, 1000, 1500, 2000, 4999)]
    assert at == pytest.approx([1e-5, 1e-5, 8e-6, 6e-6, 4e-6, 2e-6, 2e-6])
