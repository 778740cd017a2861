"""Weights mixed with those before training: the sum written out, both ends, and the step behind the encoder."""

import numpy as np
import pytest
import torch

from cseb.parts.regularisers import interpolated
from cseb.training.checkpoints import Trained, restore
from cseb.training.loop import train
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of

START = {"w": [[0.5, -0.2], [0.1, 0.3]], "b": [0.0, 0.1]}
TRAINED = {"w": [[0.9, -0.6], [0.3, 0.5]], "b": [0.2, -0.1]}


def tensors(values: dict[str, list]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


@pytest.mark.parametrize(
    ("share", "w", "b"),
    [
        (0.0, START["w"], START["b"]),
        (0.25, [[0.6, -0.3], [0.15, 0.35]], [0.05, 0.05]),
        (0.5, [[0.7, -0.4], [0.2, 0.4]], [0.1, 0.0]),
        (1.0, TRAINED["w"], TRAINED["b"]),
    ],
)
def test_every_entry_is_the_weighted_sum(share: float, w: list, b: list) -> None:
    result = interpolated(tensors(START), tensors(TRAINED), share)
    assert np.allclose(result["w"], w, atol=1e-12)
    assert np.allclose(result["b"], b, atol=1e-12)


def test_whole_numbers_are_those_of_the_trained_model() -> None:
    result = interpolated({"n": torch.tensor(1)}, {"n": torch.tensor(7)}, 0.5)
    assert result["n"].item() == 7


MADE: dict[str, tuple[object, Trained]] = {}


def trained(tiny: Tiny, text: str) -> tuple[object, Trained]:
    """Two steps, of which the dev set prefers the first; each method is trained once."""
    if text not in MADE:
        recipe = "recipe(steps=2,warmup=0,batch_size=16,learning_rate=3e-3,eval_every=1)"
        built = built_of(tiny, f"{text}+{recipe}")
        scores = iter([5.0, 1.0])
        result = train(built, SENTENCES, 0, "cpu", lambda encoder: next(scores), lambda look: None)
        MADE[text] = built.encoder, result
    return MADE[text]


def test_both_ends_are_the_start_and_the_trained_encoder_bit_for_bit(tiny: Tiny) -> None:
    start = built_of(tiny, "simcse").encoder.embed(SENTENCES)
    _, plain = trained(tiny, "simcse")
    encoder, none = trained(tiny, "simcse+mix(share=0.0)")
    for state in (none.best, none.last):
        restore(encoder, state)
        assert np.array_equal(encoder.embed(SENTENCES), start)
    _, all_of_it = trained(tiny, "simcse+mix(share=1.0)")
    assert all(torch.equal(all_of_it.last[name], plain.last[name]) for name in plain.last)
    assert all(torch.equal(all_of_it.best[name], plain.best[name]) for name in plain.best)


def test_both_checkpoints_are_mixed_and_the_head_is_not(tiny: Tiny) -> None:
    _, plain = trained(tiny, "simcse")
    _, half = trained(tiny, "simcse+mix(share=0.5)")
    start = built_of(tiny, "simcse").encoder.state_dict()
    assert half.curve == plain.curve
    assert half.best_step == 1
    for mine, theirs in ((half.best, plain.best), (half.last, plain.last)):
        for name, value in theirs.items():
            expected = value if name.startswith("head") else 0.5 * start[name] + 0.5 * value
            assert torch.equal(mine[name], expected), name


def test_what_is_fitted_afterwards_is_fitted_to_the_mixture(tiny: Tiny) -> None:
    encoder, result = trained(tiny, "simcse+whiten(dimensions=8)+mix")
    restore(encoder, result.last)
    vectors = encoder.vectors(encoder.tokenise(SENTENCES, encoder.limit()), False)
    assert np.allclose(encoder.post.mean, vectors.mean(axis=0), atol=1e-5)
