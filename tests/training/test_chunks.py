"""`recipe(chunk=C)`: the loss and the gradient of the whole batch, with the activations of C sentences in memory."""

import pytest
from torch import Tensor

from cseb.training import objective
from tests.training.small_runs import TRAINED, Tiny, first_gradients

OWN_DROPOUT = ("scd", "mocose", "promcse", "promcse-sup")  # rates of their own, which the recipe's does not replace
QUICK = ("simcse", "micse", "informin-cl", "msse", "rcl", "compcse", "tsdae", "pcl")  # the others where there is time
EXAMPLES = (*OWN_DROPOUT, "simcse", "micse", "ct", "pcl", "promptbert", "consert", "pt-bert", "llm2vec", "vascl")


def gradients(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str, chunk: int, dropout: str = ""
) -> dict[str, Tensor]:
    return first_gradients(tiny, monkeypatch, name, f"chunk={chunk}{dropout}")


def assert_equal(first: dict[str, Tensor], second: dict[str, Tensor]) -> None:
    assert first.keys() == second.keys()
    largest = max(float(gradient.abs().max()) for name, gradient in first.items() if name != "loss")
    assert second["loss"] == pytest.approx(float(first["loss"]), rel=1e-5)
    for name, gradient in first.items():
        assert float((gradient - second[name]).abs().max()) <= 3e-4 * largest, name


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in QUICK else pytest.mark.slow)
        for name in TRAINED
        if name not in OWN_DROPOUT
    ],
)
def test_chunks_give_the_gradient_of_the_whole_batch(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    whole, chunks = (gradients(tiny, monkeypatch, name, chunk, ",dropout=1e-9") for chunk in (0, 5))
    assert_equal(whole, chunks)


@pytest.mark.parametrize("name", EXAMPLES)
def test_dropout_is_repeated_in_the_backward_pass(tiny: Tiny, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    chunks = gradients(tiny, monkeypatch, name, 5)
    with monkeypatch.context() as patch:  # the same chunks, whose activations stay in memory
        patch.setattr(objective, "checkpoint", lambda function, *batch, **options: function(*batch))
        kept = gradients(tiny, monkeypatch, name, 5)
    assert_equal(kept, chunks)
