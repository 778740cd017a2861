"""Low-rank changes: the sum by hand, what moves and what does not, plain checkpoints, and absent targets."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from transformers import AutoModel

from cseb.parts.tuning import LowRank
from cseb.training.checkpoints import restore
from tests.conftest import SENTENCES
from tests.training.small_runs import Tiny, built_of, run

RECIPE = "recipe(steps=2,warmup=0,batch_size=8,learning_rate=3e-2,eval_every=1)"


def test_the_changed_layer_is_the_sum_by_hand() -> None:
    layer = nn.Linear(3, 2).double()
    low = LowRank(2, 3, 1, 2.0).double()
    with torch.no_grad():
        layer.weight.copy_(torch.tensor([[0.5, -0.2, 0.1], [0.1, 0.3, -0.4]]))
        layer.bias.copy_(torch.tensor([0.1, 0.0]))
        low.down.copy_(torch.tensor([[0.3, -0.1, 0.2]]))
        low.up.copy_(torch.tensor([[0.5], [-1.0]]))
    x = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    assert layer(x).tolist() == pytest.approx([1.05, -0.7], abs=1e-6)
    parametrize.register_parametrization(layer, "weight", low)
    assert layer(x).tolist() == pytest.approx([1.65, -1.9], abs=1e-6)
    assert layer.weight.flatten().tolist() == pytest.approx([0.8, -0.3, 0.3, -0.5, 0.5, -0.8], abs=1e-6)


def test_named_layers_are_changed_by_alpha_over_the_rank(tiny: Tiny) -> None:
    encoder = built_of(tiny, "simcse+lora(rank=4,alpha=6,targets=(key,))").encoder
    changed = {name for name, module in encoder.backbone.named_modules() if parametrize.is_parametrized(module)}
    assert changed == {f"encoder.layer.{layer}.attention.self.key" for layer in (0, 1)}
    weight = encoder.backbone.encoder.layer[0].attention.self.key.parametrizations.weight
    with torch.no_grad():
        weight[0].up.fill_(2)
    assert torch.allclose(weight(), weight.original + 1.5 * 2 * weight[0].down.sum(dim=0))


@pytest.mark.parametrize(
    ("family", "targets"), [("bert", "qv"), ("mpnet", "qv"), ("distilbert", "qv"), ("modernbert", "all")]
)
def test_only_targets_train_and_the_export_is_ordinary(tiny: Tiny, tmp_path: Path, family: str, targets: str) -> None:
    built = built_of(tiny, f"crops+lora(targets={targets},rank=2)+{RECIPE}", family)
    plain = built_of(tiny, "mean", family).encoder
    assert np.array_equal(built.encoder.embed(SENTENCES), plain.embed(SENTENCES))  # the changes start at 0
    start = plain.state_dict()
    result = run(built)
    assert set(result.last) == {name for name in start if name.split(".")[0] in ("backbone", "pooler")}
    moved = {name for name, value in result.last.items() if not torch.equal(value, start[name])}
    ends = {"bert": ("query", "value"), "mpnet": ("q", "v"), "distilbert": ("q_lin", "v_lin")}.get(family)
    assert moved
    assert ends is None or {name.split(".")[-2] for name in moved} == set(ends)
    changes = [torch.linalg.matrix_rank(result.last[name] - start[name], rtol=1e-3) for name in moved]
    assert max(changes) <= 2
    restore(plain, result.last)
    assert np.allclose(plain.embed(SENTENCES), built.encoder.embed(SENTENCES), atol=1e-6)
    built.encoder.save(tmp_path / "saved")
    loaded = AutoModel.from_pretrained(tmp_path / "saved").state_dict()
    name = next(iter(moved))
    assert torch.equal(loaded[name.removeprefix("backbone.")], result.last[name])


def test_the_same_bits_twice_and_mixtures_of_the_merged_weights(tiny: Tiny) -> None:
    results = []
    for text in ("simcse+lora", "simcse+lora", "simcse+lora+mix(share=0.5)"):
        built = built_of(tiny, f"{text}+{RECIPE}")
        results.append(run(built).last)
    once, twice, half = results
    assert all(torch.equal(once[name], twice[name]) for name in once)
    start = built_of(tiny, "simcse").encoder.state_dict()
    name = "backbone.encoder.layer.0.attention.self.query.weight"
    assert torch.equal(half[name], 0.5 * start[name] + 0.5 * once[name])
