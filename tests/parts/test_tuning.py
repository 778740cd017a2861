"""Training the last layers only: what moves, what must not, and encoders whose layers are no separate modules."""

import pytest
import torch

from cseb.parts.tuning import layers_of
from tests.training.small_runs import Tiny, built_of, run

RECIPE = "recipe(steps=2,warmup=0,batch_size=8,learning_rate=1e-3,eval_every=2,weight_decay=0.1)"


@pytest.mark.parametrize("family", ["bert", "mpnet", "modernbert", "distilbert"])
def test_only_the_last_layer_moves(tiny: Tiny, family: str) -> None:
    built = built_of(tiny, f"simcse+last_layers(count=1)+{RECIPE}", family)
    start = {name: value.clone() for name, value in built.encoder.state_dict().items()}
    result = run(built).last
    layers = layers_of(built.encoder.backbone, 2, "last_layers")
    last = {f"backbone.{name}" for name, each in built.encoder.backbone.named_parameters()
            if any(each is weight for weight in layers[1].parameters())}  # fmt: skip
    moved = {name for name, value in result.items() if not torch.equal(value, start[name])}
    backbone = {name for name in moved if name.startswith("backbone")}
    assert {name for name in backbone if "pooler" not in name and "final_norm" not in name} <= last
    assert len(backbone & last) > len(last) // 2
    assert family != "modernbert" or "backbone.final_norm.weight" in moved
    assert any(name.startswith("head") for name in moved)


def test_views_still_differ_by_the_dropout_of_frozen_layers(tiny: Tiny) -> None:
    """So the loss at the first step is that of the whole encoder."""
    curves = []
    for text in ("simcse", "simcse+last_layers(count=1)"):
        built = built_of(tiny, f"{text}+{RECIPE}+recipe(steps=1,eval_every=1)")
        curves.append(run(built).curve)
    assert curves[0] == curves[1]


def test_second_networks_are_tuned_alike(tiny: Tiny) -> None:
    built = built_of(tiny, "ct+last_layers(count=1)")
    for encoder in (built.encoder, built.second):
        asked = [weight.requires_grad for weight in encoder.backbone.parameters()]
        assert any(asked)
        assert not all(asked)
