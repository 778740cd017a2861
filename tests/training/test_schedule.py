"""Learning rates: by step, and of a head beside those of the encoder."""

import pytest

from cseb.methods.grammar import parse_method
from cseb.methods.recipe import Recipe
from cseb.training.optimisers import rate
from tests.training.small_runs import recipe


def test_rate_ramps_then_falls_or_stays() -> None:
    linear = [rate(recipe(steps=10, warmup=4), step) for step in range(10)]
    assert linear == pytest.approx([0, 0.25, 0.5, 0.75, 1, 5 / 6, 4 / 6, 3 / 6, 2 / 6, 1 / 6])
    assert rate(recipe(steps=10, warmup=4, schedule="constant"), 9) == 1
    steps = recipe(steps=10, schedule="piecewise", pieces=((0, 1.0), (3, 0.5), (5, 0.2)))
    assert [rate(steps, step) for step in range(8)] == [1, 1, 1, 0.5, 0.5, 0.2, 0.2, 0.2]


def test_ct_has_the_released_rates() -> None:
    settled = Recipe(**dict(parse_method("ct").recipe.options))
    at = [settled.learning_rate * rate(settled, step) for step in (0, 499, 500, 1000, 1500, 2000, 4999)]
    assert at == pytest.approx([1e-5, 1e-5, 8e-6, 6e-6, 4e-6, 2e-6, 2e-6])
