"""Low-rank changes: the sum by hand, what moves and what does not, plain checkpoints, and absent targets."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.utils import parametrize
from transformers import AutoModel

from cseb.errors import BadSpec
from cseb.methods.grammar import parse_method
from cseb.parts.lora import LowRank
from cseb.training.build import build, check
from cseb.training.checkpoints import restore
from cseb.training.loop import train
from tests.conftest import SENTENCES

Tiny = Callable[[str], Path]
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


@pytest.mark.parametrize(
    ("family", "targets"), [("bert", "qv"), ("mpnet", "qv"), ("distilbert", "qv"), ("modernbert", "all")]
)
def test_only_targets_move_and_the_checkpoint_is_an_ordinary_one(
    tiny: Tiny, tmp_path: Path, family: str, targets: str
) -> None:
    built = build(parse_method(f"crops+lora(targets={targets},rank=2)+{RECIPE}").at(1.0), tiny(family), 0)
    plain = build(parse_method("mean").at(1.0), tiny(family), 0).encoder
    assert np.array_equal(built.encoder.embed(SENTENCES), plain.embed(SENTENCES))  # the changes start at 0
    start = plain.state_dict()
    found = train(built, SENTENCES, 0, "cpu", None, lambda look: None)
    assert set(found.last) == {name for name in start if name.split(".")[0] in ("backbone", "pooler")}
    moved = {name for name, value in found.last.items() if not torch.equal(value, start[name])}
    ends = {"bert": ("query", "value"), "mpnet": ("q", "v"), "distilbert": ("q_lin", "v_lin")}.get(family)
    assert moved
    assert ends is None or {name.split(".")[-2] for name in moved} == set(ends)
    changes = [torch.linalg.matrix_rank(found.last[name] - start[name], rtol=1e-3) for name in moved]
    assert max(changes) <= 2
    restore(plain, found.last)
    assert np.allclose(plain.embed(SENTENCES), built.encoder.embed(SENTENCES), atol=1e-6)
    built.encoder.save(tmp_path / "saved")
    loaded = AutoModel.from_pretrained(tmp_path / "saved").state_dict()
    name = next(iter(moved))
    assert torch.equal(loaded[name.removeprefix("backbone.")], found.last[name])


def test_the_same_bits_twice_and_mixtures_of_the_merged_weights(tiny: Tiny) -> None:
    found = []
    for text in ("simcse+lora", "simcse+lora", "simcse+lora+mix(share=0.5)"):
        built = build(parse_method(f"{text}+{RECIPE}").at(1.0), tiny("bert"), 0)
        found.append(train(built, SENTENCES, 0, "cpu", None, lambda look: None).last)
    once, twice, half = found
    assert all(torch.equal(once[name], twice[name]) for name in once)
    start = build(parse_method("simcse").at(1.0), tiny("bert"), 0).encoder.state_dict()
    name = "backbone.encoder.layer.0.attention.self.query.weight"
    assert torch.equal(half[name], 0.5 * start[name] + 0.5 * once[name])


@pytest.mark.parametrize(
    ("text", "family", "message"),
    [
        ("simcse+lora(targets=('qurey',))", "bert", "no linear layer called 'qurey'; did you mean query"),
        (
            "simcse+lora",
            "modernbert",
            "targets is 'qv', this encoder's linear layers are Wqkv, Wo, Wi; name some of these",
        ),
        ("simcse+lora(targets=kv)", "bert", "lora: targets is 'kv'"),
        ("simcse+lora(rank=0)", "bert", "rank is 0"),
        ("simcse+lora+moco", "bert", "queue follows the weights of the encoder, and lora trains others"),
        ("mocose+lora", "bert", "momentum_nce follows the weights of the encoder"),
    ],
)
def test_what_cannot_be_is_said(tiny: Tiny, text: str, family: str, message: str) -> None:
    with pytest.raises(BadSpec, match=message):
        check(parse_method(f"{text}+recipe(dropout=0.1)").at(1.0), tiny(family), sentences=1_000)
