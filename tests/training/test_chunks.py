"""`recipe(chunk=C)`: the loss and the gradient of the whole batch, with the activations of C sentences in memory."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from cseb.training import objective
from tests.training import small_runs
from tests.training.small_runs import TRAINED, Tiny, first_gradients

OWN_DROPOUT = ("scd", "mocose", "promcse", "promcse-sup")  # rates of their own, which the recipe's does not replace
QUICK = ("simcse", "micse", "informin-cl", "msse", "rcl", "compcse", "tsdae", "pcl")  # the others where there is time
# In single precision little but rounding is left of the gradient of pt-bert-released, 4e-5 at most.
DOUBLE = ("simcse", "micse", "gist", "promptbert", "pt-bert-released")
EXAMPLES = (*OWN_DROPOUT, "simcse", "micse", "ct", "pcl", "promptbert", "consert", "pt-bert", "llm2vec", "vascl")


def gradients(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str, chunk: int, dropout: str = ""
) -> dict[str, Tensor]:
    return first_gradients(tiny, monkeypatch, name, f"chunk={chunk}{dropout}")


def assert_equal(first: dict[str, Tensor], second: dict[str, Tensor], bound: float = 3e-4) -> None:
    assert first.keys() == second.keys()
    largest = max(float(gradient.abs().max()) for name, gradient in first.items() if name != "loss")
    assert second["loss"] == pytest.approx(float(first["loss"]), rel=1e-5)
    for name, gradient in first.items():
        assert float((gradient - second[name]).abs().max()) <= bound * largest, name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in TRAINED
        if name not in (*OWN_DROPOUT, "pt-bert-released")
    ],
)
def test_chunks_give_the_gradient_of_the_whole_batch(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    whole, chunks = (gradients(tiny, monkeypatch, name, chunk, ",dropout=1e-9") for chunk in (0, 5))
    assert_equal(whole, chunks)


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Encoders, and all tensors made without a type, in double precision."""
    build = small_runs.build

    def built(*given: Any) -> Any:
        parts = build(*given)
        parts.encoder.double()
        return parts

    monkeypatch.setattr(small_runs, "build", built)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("name", DOUBLE)
def test_chunks_give_the_gradient_in_double_precision(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    whole, chunks = (gradients(tiny, monkeypatch, name, chunk, ",dropout=1e-9") for chunk in (0, 5))
    assert whole["loss"].dtype == torch.float64
    assert_equal(whole, chunks, 1e-9)


@pytest.mark.parametrize("name", EXAMPLES)
def test_dropout_is_repeated_in_the_backward_pass(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    chunks = gradients(tiny, monkeypatch, name, 5)
    with monkeypatch.context() as patch:  # the same chunks, whose activations stay in memory
        patch.setattr(objective, "checkpoint", lambda function, *batch, **options: function(*batch))
        kept = gradients(tiny, monkeypatch, name, 5)
    assert_equal(kept, chunks)
